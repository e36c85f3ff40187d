#include "fit/why_not.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fit/slices.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::fit {
namespace {

/// The slices that the GPU would offer if it were empty. Requires that the GPU serves slices.
MigFree offered_slices(const model::NodeInventory& node, const model::GpuState& gpu) {
  MigFree free = MigFree::empty_card(*gpu.info);
  free.keep_what_node_offers(node, *gpu.info);
  return free;
}

/// Whether the GPU has a profile that meets the requirement, or could have one. If MIG mode is off,
/// the model of the card decides, because the operator can switch MIG mode on. True for a vanished
/// GPU, which may have been any card.
bool could_have(const model::NodeInventory& node, const model::GpuState& gpu,
                const mig::SliceRequirement& requirement, FitMemo& memo) {
  if (gpu.closure == model::GpuClosure::kVanished) return true;
  if (serves_slices(*gpu.info)) {
    return offered_slices(node, gpu).profile_for(requirement).has_value();
  }
  const model::MigTable* const table = memo.table_of_card(*gpu.info, gpu.memory);
  return table != nullptr && mig::smallest_profile(*table, requirement).has_value();
}

/// Whether neither GPU serves slices and could_have() returns the same for both.
bool same_card(const model::GpuState& a, const model::GpuState& b) {
  return a.closure == b.closure && a.memory == b.memory && a.info->model == b.info->model &&
         !serves_slices(*a.info) && !serves_slices(*b.info);
}

bool any_could_have(const model::NodeState& node, const mig::SliceRequirement& requirement,
                    FitMemo& memo) {
  if (node.inventory->other_enforcer) return false;  // it gives containers no slices
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    if (i > 0 && same_card(node.gpus[i], node.gpus[i - 1])) continue;
    if (could_have(*node.inventory, node.gpus[i], requirement, memo)) return true;
  }
  return false;
}

/// Whether the GPU is too small for the container; in MIG mode, whether every slice that it offers
/// is too small. In MIG mode, the result is false if the container cannot use a slice or the GPU
/// offers none. It is always false for a vanished GPU.
bool too_small(const model::NodeInventory& node, const model::GpuState& gpu,
               const model::ContainerRequest& container_request,
               const mig::SliceRequirement& requirement) {
  if (gpu.closure == model::GpuClosure::kVanished) return false;
  if (!serves_slices(*gpu.info)) {
    return !gpu.info->mig_enabled && charge(container_request, gpu.memory).memory > gpu.memory;
  }
  const MigFree slices = offered_slices(node, gpu);
  return may_be_slice(container_request.isolation) && slices.profiles != 0 &&
         !slices.profile_for(requirement);
}

}  // namespace

model::ReasonCode closest_reason(const model::NodeState& node, FitMemo& memo,
                                 model::ReasonCode refusal) {
  // If the reason comes before kWrongMode, the request fits on the node as far as size, model and
  // mode are concerned. So there is no more specific reason.
  if (refusal < model::ReasonCode::kWrongMode) return refusal;
  for (const model::ContainerRequest& container_request : memo.request().containers) {
    const std::optional<mig::SliceRequirement> requirement =
        mig::slice_requirement(container_request);
    if (!requirement) continue;
    if (!requirement->profile.empty()) {
      if (!any_could_have(node, *requirement, memo)) return model::ReasonCode::kNoProfile;
    } else if (refusal == model::ReasonCode::kWrongMode &&
               std::ranges::all_of(node.gpus, [&](const model::GpuState& gpu) {
                 return too_small(*node.inventory, gpu, container_request, *requirement);
               })) {
      return model::ReasonCode::kTooLarge;
    }
  }
  return refusal;
}

}  // namespace snug::fit
