// A simulator of the tests' own: its own bookkeeping, every node looked at for every arrival.
// Nothing here calls the code that it checks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "snug/sim/replay.hpp"
#include "snug/sim/report.hpp"
#include "snug/sim/trace.hpp"

namespace snug {

struct NaiveNode {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::vector<std::int64_t> left;  // milli of each GPU
  std::string model;

  [[nodiscard]] std::int64_t idle() const {
    std::int64_t sum = 0;
    for (const std::int64_t milli : left) sum += milli;
    return sum;
  }
};

inline bool may_have(const sim::TracePod& pod, const std::string& model) {
  return pod.models.empty() || std::ranges::find(pod.models, model) != pod.models.end();
}

/// The GPUs that the pod gets on the node: a share the fullest that has room, whole ones the first.
/// Nothing: it does not fit, for whatever reason.
inline std::optional<std::vector<int>> gpus_for(const sim::TracePod& pod, const NaiveNode& node) {
  if (pod.cpu_milli > node.cpu || pod.memory_mib > node.memory) return std::nullopt;
  std::vector<int> gpus;
  if (pod.gpus == 0) return gpus;
  if (!may_have(pod, node.model)) return std::nullopt;
  for (int gpu = 0; gpu < static_cast<int>(node.left.size()); ++gpu) {
    if (node.left[static_cast<std::size_t>(gpu)] >= pod.gpu_milli) gpus.push_back(gpu);
  }
  if (static_cast<int>(gpus.size()) < pod.gpus) return std::nullopt;
  std::ranges::stable_sort(gpus, std::less{},
                           [&](int gpu) { return node.left[static_cast<std::size_t>(gpu)]; });
  gpus.resize(static_cast<std::size_t>(pod.gpus));
  return gpus;
}

/// The least idle GPU beside the pod, then the least idle CPU; of equals the first.
inline std::pair<std::int64_t, std::int64_t> tightness(const NaiveNode& node) {
  return {node.idle(), node.cpu};
}

class NaiveCluster {
 public:
  explicit NaiveCluster(const sim::Trace& trace) {
    for (const sim::TraceNode& node : trace.nodes) {
      nodes_.push_back({node.cpu_milli, node.memory_mib,
                        std::vector<std::int64_t>(static_cast<std::size_t>(node.gpus), 1000),
                        node.model});
    }
  }

  [[nodiscard]] const std::vector<NaiveNode>& nodes() const { return nodes_; }
  [[nodiscard]] bool fits_somewhere(const sim::TracePod& pod) const {
    return std::ranges::any_of(
        nodes_, [&](const NaiveNode& node) { return gpus_for(pod, node).has_value(); });
  }
  /// Takes (1) or gives back (-1). Nothing may be exceeded.
  void change(const sim::TracePod& pod, const sim::ArrivalOutcome& outcome, int sign) {
    NaiveNode& node = nodes_.at(*outcome.node);
    node.cpu -= sign * pod.cpu_milli;
    node.memory -= sign * pod.memory_mib;
    for (const int gpu : outcome.gpus) {
      std::int64_t& left = node.left.at(static_cast<std::size_t>(gpu));
      left -= sign * pod.gpu_milli;
      EXPECT_GE(left, 0) << "GPU " << gpu;
      EXPECT_LE(left, 1000) << "GPU " << gpu;
    }
    EXPECT_GE(node.cpu, 0);
    EXPECT_GE(node.memory, 0);
  }

 private:
  std::vector<NaiveNode> nodes_;
};

/// Best fit over all nodes.
inline sim::ArrivalOutcome naive_choice(std::size_t arrival, const sim::TracePod& pod,
                                        const NaiveCluster& cluster) {
  sim::ArrivalOutcome best{.arrival = arrival, .node = std::nullopt, .gpus = {}};
  for (std::size_t i = 0; i < cluster.nodes().size(); ++i) {
    const NaiveNode& node = cluster.nodes()[i];
    auto gpus = gpus_for(pod, node);
    if (!gpus) continue;
    if (best.node && tightness(cluster.nodes()[*best.node]) <= tightness(node)) continue;
    best.node = i;
    std::ranges::sort(*gpus);
    best.gpus = *std::move(gpus);
  }
  return best;
}

/// The typical pods of a trace with how many they are: the most frequent ones that cover 95 %.
inline std::vector<std::pair<sim::TracePod, double>> naive_typical(const sim::Trace& trace) {
  std::vector<std::pair<sim::TracePod, double>> kinds;
  for (const sim::TracePod& pod : trace.pods) {
    const auto key = [](const sim::TracePod& of) {
      return std::tuple(of.cpu_milli, of.gpus, of.gpu_milli, of.models);
    };
    const auto known =
        std::ranges::find_if(kinds, [&](const auto& kind) { return key(kind.first) == key(pod); });
    if (known == kinds.end()) {
      kinds.emplace_back(pod, 1);
    } else {
      known->second += 1;
    }
  }
  std::ranges::stable_sort(kinds, std::ranges::greater{},
                           [](const auto& kind) { return kind.second; });
  double covered = 0;
  std::size_t kept = 0;
  while (20 * covered < 19 * static_cast<double>(trace.pods.size()))
    covered += kinds[kept++].second;
  kinds.resize(kept);
  for (auto& [pod, count] : kinds) count /= covered;
  return kinds;
}

/// Idle milli-GPU that typical pods cannot use, in the mean.
inline double naive_fragment(const sim::Trace& trace, const NaiveCluster& cluster) {
  double sum = 0;
  const auto typical = naive_typical(trace);
  for (const NaiveNode& node : cluster.nodes()) {
    for (const auto& [pod, part] : typical) {
      sim::TracePod host = pod;
      host.memory_mib = 0;
      const bool hosted = pod.gpus > 0 && gpus_for(host, node).has_value();
      for (const std::int64_t left : node.left) {
        if (!hosted || left < pod.gpu_milli) sum += part * static_cast<double>(left);
      }
    }
  }
  return sum;
}

struct NaiveMean {
  double sum = 0;
  int count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] std::optional<double> get() const {
    return count == 0 ? std::nullopt : std::optional(sum / count);
  }
};

/// Goes through a trace's arrivals, with outcomes that somebody chose, and adds up the figures.
class NaiveRun {
 public:
  using Choose = std::function<sim::ArrivalOutcome(std::size_t arrival, const sim::TracePod& pod,
                                                   const NaiveCluster& cluster)>;

  explicit NaiveRun(const sim::Trace& trace) : trace_(trace), cluster_(trace) {}

  sim::SimulationReport run(const Choose& choose) {
    for (std::size_t t = 0; t < trace_.arrivals.size(); ++t) {
      leave(t);
      const sim::TracePod& pod = trace_.pods.at(trace_.arrivals[t].pod);
      outcomes_.push_back(choose(t, pod, cluster_));
      arrive(t, pod);
    }
    report_.arrivals = static_cast<std::int64_t>(trace_.arrivals.size());
    report_.nodes = static_cast<std::int64_t>(trace_.nodes.size());
    report_.gpus = trace_.gpu_count();
    if (report_.gpus > 0) report_.final_allocation = percent(used_);
    report_.allocation = {at100_.get(), at130_.get()};
    report_.fragmentation = {fragments100_.get(), fragments130_.get()};
    if (late_.count > 0) {
      const auto part = [](double of, double all) { return 100 * of / all; };
      report_.churn = sim::ChurnReport{.allocation_mean = *late_.get(),
                                       .rejected_pct = part(late_rejected_, late_.count)};
      if (late_milli_ > 0) report_.churn->gpu_accepted_pct = part(late_accepted_, late_milli_);
      if (late_multi_ > 0)
        report_.churn->multi_rejected_pct = part(late_multi_rejected_, late_multi_);
    }
    return report_;
  }

  [[nodiscard]] const std::vector<sim::ArrivalOutcome>& outcomes() const { return outcomes_; }

 private:
  [[nodiscard]] double percent(double milli) const {
    const double capacity = 1000.0 * static_cast<double>(trace_.gpu_count());
    return capacity == 0 ? 0 : 100 * milli / capacity;
  }

  void leave(std::size_t t) {
    for (std::size_t i = 0; i < t; ++i) {
      const sim::Arrival& arrival = trace_.arrivals[i];
      if (gone_[i] || !outcomes_[i].node || !arrival.lifetime) continue;
      if (static_cast<double>(i) + *arrival.lifetime > static_cast<double>(t)) continue;
      gone_[i] = true;
      const sim::TracePod& pod = trace_.pods[arrival.pod];
      cluster_.change(pod, outcomes_[i], -1);
      used_ -= static_cast<double>(pod.milli());
    }
  }

  void arrive(std::size_t t, const sim::TracePod& pod) {
    const sim::ArrivalOutcome& outcome = outcomes_[t];
    const auto milli = static_cast<double>(pod.milli());
    arrived_ += milli;
    if (outcome.node) {
      EXPECT_EQ(static_cast<int>(outcome.gpus.size()), pod.gpus);
      EXPECT_TRUE(pod.gpus == 0 || may_have(pod, cluster_.nodes().at(*outcome.node).model));
      cluster_.change(pod, outcome, 1);
      used_ += milli;
      ++report_.accepted;
    } else {
      ++(pod.gpus == 0          ? report_.rejected.cpu
         : pod.gpus > 1         ? report_.rejected.multi
         : pod.gpu_milli < 1000 ? report_.rejected.share
                                : report_.rejected.one);
    }
    if (trace_.arrivals.front().lifetime) {
      if (2 * t > trace_.arrivals.size()) count_late(pod, outcome.node.has_value());
      return;
    }
    const double level = std::floor(percent(arrived_) + 0.5);
    if (level == 100) count_level(at100_, fragments100_);
    if (level == 130) count_level(at130_, fragments130_);
  }

  void count_level(NaiveMean& allocation, NaiveMean& fragments) {
    allocation.add(percent(used_));
    fragments.add(percent(naive_fragment(trace_, cluster_)));
  }

  void count_late(const sim::TracePod& pod, bool placed) {
    const auto milli = static_cast<double>(pod.milli());
    late_.add(percent(used_));
    late_milli_ += milli;
    late_multi_ += pod.gpus > 1 ? 1 : 0;
    if (placed) {
      late_accepted_ += milli;
    } else {
      late_rejected_ += 1;
      late_multi_rejected_ += pod.gpus > 1 ? 1 : 0;
    }
  }

  const sim::Trace& trace_;
  NaiveCluster cluster_;
  std::vector<sim::ArrivalOutcome> outcomes_;
  std::map<std::size_t, bool> gone_;
  sim::SimulationReport report_;
  double used_ = 0;
  double arrived_ = 0;
  NaiveMean at100_, at130_, fragments100_, fragments130_;
  NaiveMean late_;
  double late_milli_ = 0, late_accepted_ = 0;
  double late_rejected_ = 0, late_multi_ = 0, late_multi_rejected_ = 0;
};

}  // namespace snug
