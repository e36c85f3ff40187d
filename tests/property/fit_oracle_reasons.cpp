// What FitOracle says of nodes that cannot serve a request.
#include <algorithm>
#include <variant>

#include "fit_oracle.hpp"
#include "snug/mig/catalog.hpp"

namespace snug {

bool FitOracle::is_true(ReasonCode reason, const GpuRequest& request) const {
  if (!gates_open(request)) return gate_says(reason, request);
  if (request.kubelet_assigned()) return reason == reason_for_units(request);
  ReasonCode first = ReasonCode::kNone;
  for (const Rule rule : {Rule::kNeighbours, Rule::kRoom, Rule::kCap, Rule::kHealth, Rule::kMode,
                          Rule::kModel, Rule::kSize}) {
    if (exists(request, rule)) break;
    first = reason_of(rule);
  }
  return reason == closest(request, first);
}

ReasonCode FitOracle::reason_of(Rule rule) {
  switch (rule) {
    case Rule::kSize:
      return ReasonCode::kTooLarge;
    case Rule::kModel:
      return ReasonCode::kModelExcluded;
    case Rule::kMode:
      return ReasonCode::kWrongMode;
    case Rule::kHealth:
      return ReasonCode::kUnhealthy;
    case Rule::kCap:
      return ReasonCode::kCapReached;
    case Rule::kRoom:
      return ReasonCode::kNoRoom;
    case Rule::kNeighbours:
      break;
  }
  return ReasonCode::kOtherNamespace;
}

ReasonCode FitOracle::closest(const GpuRequest& request, ReasonCode first) const {
  const bool of_cards = first == ReasonCode::kWrongMode || first == ReasonCode::kModelExcluded ||
                        first == ReasonCode::kTooLarge;
  if (!of_cards) return first;
  const auto has = [](const ContainerRequest& asked, const Gpu& gpu) {
    if (gpu.vanished) return true;
    if (gpu.slices) return gpu.slices->offers_profile(asked).value_or(false);
    const MigCard* const card = find_mig_card(gpu.info.model, gpu.info.memory);
    return card != nullptr &&
           std::ranges::any_of(card->table->profiles, [&](const MigProfile& profile) {
             const int least = asked.compute_percent.value_or(0) * card->table->compute;
             const auto& name = std::get<SliceAsk>(asked.ask).profile;
             return (profile.name == name || profile.alias == name) &&
                    100 * profile.compute >= least;
           });
  };
  const auto exceeds = [](const ContainerRequest& asked, const Gpu& gpu) {
    if (gpu.vanished) return false;
    const bool wall = asked.isolation == Isolation::kAny || asked.isolation == Isolation::kMig;
    if (gpu.slices) return wall && !gpu.slices->offers_profile(asked).value_or(true);
    return !gpu.info.mig && cost(asked, gpu.info.memory.value).memory > gpu.info.memory.value;
  };
  for (const ContainerRequest& asked : request.containers) {
    const bool named = std::holds_alternative<SliceAsk>(asked.ask);
    const bool share = std::holds_alternative<FractionAsk>(asked.ask) ||
                       std::holds_alternative<MemoryAsk>(asked.ask);
    const auto with = [&](const auto& says) {
      return [&](const Gpu& gpu) { return says(asked, gpu); };
    };
    if (named && std::ranges::none_of(gpus_, with(has))) return ReasonCode::kNoProfile;
    if (share && first == ReasonCode::kWrongMode && std::ranges::all_of(gpus_, with(exceeds))) {
      return ReasonCode::kTooLarge;
    }
  }
  return first;
}

}  // namespace snug
