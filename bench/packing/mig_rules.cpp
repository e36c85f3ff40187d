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
#include "snug/mig/profile_choice.hpp"
#include "snug/plan/plan.hpp"

namespace snug_bench {
namespace {

using snug::base::NodeIndex;
using snug::ledger::Ledger;
using snug::model::GpuState;
using snug::model::MigPlacement;
using snug::model::MigTable;
using snug::sim::ArrivingPod;

class Rule final : public snug::sim::Placer {
 public:
  Rule(bool best_fit, bool high_start) : best_fit_(best_fit), high_start_(high_start) {}

  /// Of cards with as much left the one with the first start, then the one whose lower slices are
  /// free, then the first: so the rules of reference.csv have it.
  std::optional<NodeIndex> choose_node(const ArrivingPod& arriving,
                                       std::span<const NodeIndex> candidates,
                                       Ledger& ledger) override {
    using Key = std::tuple<int, int, snug::model::AxisMask>;
    const snug::model::SnapshotPtr snapshot = ledger.snapshot();
    std::optional<Key> best;
    std::optional<NodeIndex> chosen;
    for (const NodeIndex node : candidates) {
      const std::vector<GpuState>& gpus = snapshot->nodes[node.value]->gpus;
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const std::optional<MigPlacement> slice = place(gpus[i], arriving.pod.mig_profile);
        if (!slice) continue;
        const int order = high_start_ ? -int{slice->start} : int{slice->start};
        const Key key = best_fit_ ? Key{-std::popcount(gpus[i].mig.taken_slices), order,
                                        gpus[i].mig.taken_slices}
                                  : Key{};
        if (best && *best <= key) continue;
        best = key;
        chosen = node;
        gpu_ = i;
        slice_ = *slice;
      }
    }
    return chosen;
  }

  void commit(const ArrivingPod& arriving, NodeIndex node, Ledger& ledger) override {
    const snug::model::NodeStatePtr state = ledger.snapshot()->nodes[node.value];
    const MigTable& table = *state->gpus[gpu_].info->mig_table;
    const snug::model::MigProfile& profile = table.profiles[slice_.profile];
    snug::model::Placement placement;
    placement.allocations.push_back({.gpu = static_cast<std::uint16_t>(gpu_),
                                     .mode = snug::model::GpuMode::kMig,
                                     .memory = profile.memory,
                                     .compute = snug::mig::slice_compute(table, profile),
                                     .slice = slice_});
    ledger.hold(holding_of(arriving, *state, placement));
  }

 private:
  [[nodiscard]] std::optional<MigPlacement> place(const GpuState& gpu,
                                                  std::string_view profile) const {
    const MigTable& table = *gpu.info->mig_table;
    const auto found = table.find_profile(profile);
    if (!found) return std::nullopt;
    const std::vector<int>& starts = table.profiles[*found].starts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const int start = starts[high_start_ ? starts.size() - 1 - i : i];
      const MigPlacement slice{static_cast<std::uint16_t>(*found),
                               static_cast<std::uint16_t>(start)};
      if (snug::mig::slice_fits(table, gpu.mig, slice)) return slice;
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

std::unique_ptr<snug::sim::Placer> mig_rule(std::string_view name) {
  SNUG_CHECK(std::ranges::find(mig_rule_names(), name) != mig_rule_names().end());
  return std::make_unique<Rule>(name.starts_with("best-fit"), name.ends_with("high-start"));
}

}  // namespace snug_bench
