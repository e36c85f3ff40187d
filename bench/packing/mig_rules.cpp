#include "mig_rules.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include "holding.hpp"
#include "snug/base/check.hpp"
#include "snug/mig/choose.hpp"
#include "snug/plan/plan.hpp"

namespace snug_bench {
namespace {

using snug::ArrivingPod;
using snug::GpuState;
using snug::Ledger;
using snug::MigPlacement;
using snug::MigTable;
using snug::NodeIndex;

class Rule final : public snug::Placer {
 public:
  Rule(bool best_fit, bool high_start) : best_fit_(best_fit), high_start_(high_start) {}

  /// Among cards with equal free memory slices: the lowest start, then the card whose lower slices
  /// are free, then the first card, as in the rules of reference.csv.
  std::optional<NodeIndex> choose(const ArrivingPod& arriving,
                                  std::span<const NodeIndex> candidates, Ledger& ledger) override {
    using Key = std::tuple<int, int, snug::AxisMask>;
    const snug::SnapshotPtr snapshot = ledger.snapshot();
    std::optional<Key> best;
    std::optional<NodeIndex> chosen;
    for (const NodeIndex node : candidates) {
      const std::vector<GpuState>& gpus = snapshot->nodes[node.value]->gpus;
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const std::optional<MigPlacement> slice = place(gpus[i], arriving.pod.mig_profile);
        if (!slice) continue;
        const int order = high_start_ ? -int{slice->start} : int{slice->start};
        const Key key =
            best_fit_ ? Key{-std::popcount(gpus[i].mig.taken), order, gpus[i].mig.taken} : Key{};
        if (best && *best <= key) continue;
        best = key;
        chosen = node;
        gpu_ = i;
        slice_ = *slice;
      }
    }
    return chosen;
  }

  void hold(const ArrivingPod& arriving, NodeIndex node, Ledger& ledger) override {
    const snug::NodeStatePtr state = ledger.snapshot()->nodes[node.value];
    const MigTable& table = *state->gpus[gpu_].info->mig_table;
    const snug::MigProfile& profile = table.profiles[slice_.profile];
    snug::Placement placement;
    placement.takes.push_back({.gpu = static_cast<std::uint16_t>(gpu_),
                               .mode = snug::GpuMode::kMig,
                               .memory = profile.memory,
                               .compute = snug::slice_compute(table, profile),
                               .slice = slice_});
    ledger.hold(holding_of(arriving, *state, placement));
  }

 private:
  [[nodiscard]] std::optional<MigPlacement> place(const GpuState& gpu,
                                                  std::string_view profile) const {
    const MigTable& table = *gpu.info->mig_table;
    const auto found = table.find(profile);
    if (!found) return std::nullopt;
    const std::vector<int>& starts = table.profiles[*found].starts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int start = starts[high_start_ ? starts.size() - 1 - i : i];
      const MigPlacement slice{static_cast<std::uint16_t>(*found),
                               static_cast<std::uint16_t>(start)};
      if (snug::has_room(table, gpu.mig, slice)) return slice;
    }
    return std::nullopt;
  }

  bool best_fit_;
  bool high_start_;
  std::size_t gpu_ = 0;  // what was chosen last
  MigPlacement slice_;
};

}  // namespace

const std::vector<std::string_view>& mig_rule_names() {
  static const std::vector<std::string_view> names{"first-fit", "first-fit-high-start", "best-fit",
                                                   "best-fit-high-start"};
  return names;
}

std::unique_ptr<snug::Placer> mig_rule(std::string_view name) {
  SNUG_CHECK(std::ranges::find(mig_rule_names(), name) != mig_rule_names().end());
  return std::make_unique<Rule>(name.starts_with("best-fit"), name.ends_with("high-start"));
}

}  // namespace snug_bench
