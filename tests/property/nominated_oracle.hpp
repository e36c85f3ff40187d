// What is kept for nominated pods, decided by trying everything: every order in which they may find
// their place, and every set of GPUs for each. It shares no code with plan/ or fit/. For nodes of a
// few GPUs of 1000 MiB, pods of one container, and shares that may meet. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "snug/model/pod_rank.hpp"

namespace snug {

using GpuSet = std::uint32_t;

/// That much of each of `count` GPUs: thousandths, 1000 is all of it.
struct OracleAsk {
  int thousandths = 0;
  int count = 1;
};

struct OraclePod {
  std::string name_space;
  model::PodRank rank;
  OracleAsk ask;
};

/// A pod that holds something.
struct OracleHolder {
  OraclePod pod;
  GpuSet gpus = 0;
  bool terminating = false;
};

class NominatedOracle {
 public:
  struct Node {
    int gpus = 0;
    int cap = 0;  // of each namespace, thousandths of a GPU
    std::vector<OracleHolder> holders;
  };
  enum class Waits : std::uint8_t { kForNobody, kForTerminating, kForAllAfterIt };
  struct Kept {
    std::string uid;
    Waits waits = Waits::kForNobody;
    friend bool operator==(const Kept&, const Kept&) = default;
  };

  /// `nominated`: the first by rank first.
  NominatedOracle(const Node& node, const OraclePod& claimant,
                  const std::vector<OraclePod>& nominated)
      : node_(node), claimant_(claimant) {
    for (const OraclePod& pod : nominated) {
      if (pod.rank.uid == claimant.rank.uid || !pod.rank.outranks(claimant.rank)) continue;
      for (const Waits waits : {Waits::kForNobody, Waits::kForTerminating, Waits::kForAllAfterIt}) {
        rows_.push_back({&pod, waits});
        std::vector<OracleHolder> placed;
        if (all_have_room(placed, 0)) break;
        rows_.pop_back();
      }
    }
  }

  /// Whom room is kept for, and for whose end each of them waits.
  [[nodiscard]] std::vector<Kept> kept() const {
    std::vector<Kept> all;
    for (const Row& row : rows_) all.push_back({row.pod->rank.uid, row.waits});
    return all;
  }
  /// All ways in which those who wait for nobody can be placed on the node, side by side.
  [[nodiscard]] std::vector<std::vector<OracleHolder>> starts() const {
    std::vector<std::vector<OracleHolder>> all{{}};
    for (const Row& row : rows_) {
      if (row.waits != Waits::kForNobody) continue;
      std::vector<std::vector<OracleHolder>> longer;
      for (const std::vector<OracleHolder>& before : all) {
        Amounts amounts(node_.holders, nullptr);
        for (const OracleHolder& other : before) amounts.add(other);
        (void)any([&](GpuSet gpus) {
          if (!room(amounts, *row.pod, gpus)) return false;
          longer.push_back(before);
          longer.back().push_back({*row.pod, gpus, false});
          return false;  // go on
        });
      }
      all = std::move(longer);
    }
    return all;
  }
  /// Whether the claimant's GPUs are free, whoever is nominated.
  [[nodiscard]] bool fits(GpuSet gpus) const {
    return room(Amounts(node_.holders, nullptr), claimant_, gpus);
  }
  /// Whether all that are kept still have room when it takes them.
  [[nodiscard]] bool leaves_room(GpuSet gpus) const {
    std::vector<OracleHolder> placed = {{claimant_, gpus, false}};
    return all_have_room(placed, 0);
  }
  [[nodiscard]] bool any_fits() const {
    return any([&](GpuSet gpus) { return fits(gpus); });
  }
  [[nodiscard]] bool any_may_be_taken() const {
    return any([&](GpuSet gpus) { return fits(gpus) && leaves_room(gpus); });
  }

 private:
  struct Row {
    const OraclePod* pod;
    Waits waits;
    [[nodiscard]] bool sees(const OracleHolder& holder) const {
      if (waits == Waits::kForNobody) return true;
      if (holder.terminating) return false;
      return waits == Waits::kForTerminating || holder.pod.rank.priority >= pod->rank.priority;
    }
  };

  struct Amounts {
    Amounts(const std::vector<OracleHolder>& holders, const Row* seen_by) {
      for (const OracleHolder& holder : holders) {
        if (seen_by == nullptr || seen_by->sees(holder)) add(holder);
      }
    }
    void add(const OracleHolder& holder) {
      for (std::size_t gpu = 0; gpu < used.size(); ++gpu) {
        if ((holder.gpus >> gpu & 1U) == 0) continue;
        used[gpu] += holder.pod.ask.thousandths;
        held[holder.pod.name_space] += holder.pod.ask.thousandths;
      }
    }
    std::array<int, 8> used{};
    std::map<std::string, int> held;
  };

  [[nodiscard]] bool room(const Amounts& amounts, const OraclePod& pod, GpuSet gpus) const {
    int count = 0;
    for (std::size_t gpu = 0; gpu < amounts.used.size(); ++gpu) {
      if ((gpus >> gpu & 1U) == 0) continue;
      if (amounts.used[gpu] + pod.ask.thousandths > 1000) return false;
      ++count;
    }
    const auto held = amounts.held.find(pod.name_space);
    const int before = held == amounts.held.end() ? 0 : held->second;
    return count == pod.ask.count && before + count * pod.ask.thousandths <= node_.cap;
  }

  /// Whether those who are not `done` find room, one after another in some order.
  bool all_have_room(std::vector<OracleHolder>& placed, std::uint32_t done) const {
    if (done + 1 == 1U << rows_.size()) return true;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if ((done >> i & 1U) != 0) continue;
      Amounts amounts(node_.holders, &rows_[i]);
      for (const OracleHolder& other : placed) amounts.add(other);
      const bool found = any([&](GpuSet gpus) {
        if (!room(amounts, *rows_[i].pod, gpus)) return false;
        placed.push_back({*rows_[i].pod, gpus, false});
        const bool all = all_have_room(placed, done | 1U << i);
        placed.pop_back();
        return all;
      });
      if (found) return true;
    }
    return false;
  }

  template <typename Condition>
  [[nodiscard]] bool any(const Condition& holds) const {
    for (GpuSet gpus = 1; gpus < 1U << static_cast<unsigned>(node_.gpus); ++gpus) {
      if (holds(gpus)) return true;
    }
    return false;
  }

  const Node& node_;
  const OraclePod& claimant_;
  std::vector<Row> rows_;
};

}  // namespace snug
