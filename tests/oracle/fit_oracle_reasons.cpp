// What FitOracle says of nodes that cannot serve a request.
#include <algorithm>
#include <variant>

#include "oracle/fit_oracle.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug {

bool FitOracle::is_true(model::ReasonCode reason, const model::GpuRequest& request) const {
  constexpr model::ReasonCode kOtherKind = model::ReasonCode::kOtherKind;
  if (!gates_open(request, kOtherKind)) return reason != kOtherKind && gate_says(reason, request);
  const model::ReasonCode of_devices = reason_of_devices(request);
  if (!gate_says(kOtherKind, request)) return reason == of_devices;
  const auto lasts = [](model::ReasonCode each) {
    return each == model::ReasonCode::kNone ? 0 : model::reason_row(each).distance;
  };
  return reason == (lasts(of_devices) > lasts(kOtherKind) ? of_devices : kOtherKind);
}

model::ReasonCode FitOracle::reason_of_devices(const model::GpuRequest& request) const {
  if (request.is_kubelet_assigned()) return reason_for_units(request);
  model::ReasonCode first = model::ReasonCode::kNone;
  for (const Rule rule : {Rule::kNeighbours, Rule::kRoom, Rule::kCap, Rule::kHealth, Rule::kMode,
                          Rule::kModel, Rule::kSize}) {
    if (exists(request, rule)) break;
    first = reason_of(rule);
  }
  return closest(request, first);
}

model::ReasonCode FitOracle::reason_of(Rule rule) {
  switch (rule) {
    case Rule::kSize:
      return model::ReasonCode::kTooLarge;
    case Rule::kModel:
      return model::ReasonCode::kModelExcluded;
    case Rule::kMode:
      return model::ReasonCode::kWrongMode;
    case Rule::kHealth:
      return model::ReasonCode::kUnhealthy;
    case Rule::kCap:
      return model::ReasonCode::kCapReached;
    case Rule::kRoom:
      return model::ReasonCode::kNoRoom;
    case Rule::kNeighbours:
      break;
  }
  return model::ReasonCode::kOtherNamespace;
}

model::ReasonCode FitOracle::closest(const model::GpuRequest& request,
                                     model::ReasonCode first) const {
  const bool of_cards = first == model::ReasonCode::kWrongMode ||
                        first == model::ReasonCode::kModelExcluded ||
                        first == model::ReasonCode::kTooLarge;
  if (!of_cards) return first;
  const auto has = [this](const model::ContainerRequest& asked, const Gpu& gpu) {
    if (node_.other_enforcer) return false;
    if (gpu.vanished) return true;
    if (gpu.slices) return gpu.slices->offers_profile(asked).value_or(false);
    const mig::MigCard* const card = mig::find_mig_card(gpu.info.model, gpu.info.memory);
    return card != nullptr &&
           std::ranges::any_of(card->table->profiles, [&](const model::MigProfile& profile) {
             const int least = asked.compute_percent.value_or(0) * card->table->compute_slices;
             const auto& name = std::get<model::SliceRequest>(asked.device).profile;
             return (profile.name == name || profile.alias == name) &&
                    100 * profile.compute_slices >= least;
           });
  };
  const auto exceeds = [](const model::ContainerRequest& asked, const Gpu& gpu) {
    if (gpu.vanished) return false;
    const bool wall =
        asked.isolation == model::Isolation::kAny || asked.isolation == model::Isolation::kMig;
    if (gpu.slices) return wall && !gpu.slices->offers_profile(asked).value_or(true);
    return !gpu.info.mig_enabled &&
           cost(asked, gpu.info.memory.value).memory > gpu.info.memory.value;
  };
  for (const model::ContainerRequest& asked : request.containers) {
    const bool named = std::holds_alternative<model::SliceRequest>(asked.device);
    const bool share = std::holds_alternative<model::FractionRequest>(asked.device) ||
                       std::holds_alternative<model::MemoryRequest>(asked.device);
    const auto with = [&](const auto& says) {
      return [&](const Gpu& gpu) { return says(asked, gpu); };
    };
    if (named && std::ranges::none_of(gpus_, with(has))) return model::ReasonCode::kNoProfile;
    if (share && first == model::ReasonCode::kWrongMode &&
        std::ranges::all_of(gpus_, with(exceeds))) {
      return model::ReasonCode::kTooLarge;
    }
  }
  return first;
}

}  // namespace snug
