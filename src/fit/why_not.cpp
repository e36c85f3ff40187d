#include "fit/why_not.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fit/slices.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/mig/catalog.hpp"
#include "snug/mig/choose.hpp"

namespace snug {
namespace {

/// What the GPU, which takes slices, has or could be given when it is empty.
MigFree offered_slices(const NodeInventory& node, const GpuState& gpu) {
  MigFree free = MigFree::empty_card(*gpu.info);
  free.keep_what_node_offers(node, *gpu.info);
  return free;
}

/// Whether the GPU has the profile, or could have it. Outside of MIG mode its card decides, because
/// the operator can switch the mode on. A vanished GPU may have been any card.
bool could_have(const NodeInventory& node, const GpuState& gpu, const SliceNeed& need,
                FitMemo& memo) {
  if (gpu.closure == GpuClosure::kVanished) return true;
  if (takes_slices(*gpu.info)) {
    return offered_slices(node, gpu).profile_for(need).has_value();
  }
  // One step takes as long as reading so many bytes of a model's name.
  constexpr std::size_t kBytesOfStep = 16;
  memo.count_steps(static_cast<std::int64_t>(1 + gpu.info->model.size() / kBytesOfStep));
  const MigCard* const card = find_mig_card(gpu.info->model, gpu.memory);
  return card != nullptr && smallest_profile(*card->table, need).has_value();
}

/// Whether could_have() gives the same answer for both, neither of which takes slices.
bool same_card(const GpuState& a, const GpuState& b) {
  return a.closure == b.closure && a.memory == b.memory && a.info->model == b.info->model &&
         !takes_slices(*a.info) && !takes_slices(*b.info);
}

bool any_could_have(const NodeState& node, const SliceNeed& need, FitMemo& memo) {
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    if (i > 0 && same_card(node.gpus[i], node.gpus[i - 1])) continue;
    if (could_have(*node.inventory, node.gpus[i], need, memo)) return true;
  }
  return false;
}

/// Whether the container asks for more than the GPU, or any of its slices, has. False of a vanished
/// GPU, and in MIG mode where the container takes no slice or there is none to compare with.
bool too_small(const NodeInventory& node, const GpuState& gpu, const ContainerRequest& asked,
               const SliceNeed& need) {
  if (gpu.closure == GpuClosure::kVanished) return false;
  if (!takes_slices(*gpu.info)) {
    return !gpu.info->mig && charge(asked, gpu.memory).memory > gpu.memory;
  }
  const MigFree slices = offered_slices(node, gpu);
  return may_be_slice(asked.isolation) && slices.profiles != 0 && !slices.profile_for(need);
}

}  // namespace

ReasonCode closest_reason(const NodeState& node, FitMemo& memo, ReasonCode found) {
  // The reasons before it in the table are those of a GPU that could serve the request.
  if (found < ReasonCode::kWrongMode) return found;
  for (const ContainerRequest& asked : memo.request().containers) {
    const std::optional<SliceNeed> need = slice_need(asked);
    if (!need) continue;
    if (!need->profile.empty()) {
      if (!any_could_have(node, *need, memo)) return ReasonCode::kNoProfile;
    } else if (found == ReasonCode::kWrongMode &&
               std::ranges::all_of(node.gpus, [&](const GpuState& gpu) {
                 return too_small(*node.inventory, gpu, asked, *need);
               })) {
      return ReasonCode::kTooLarge;
    }
  }
  return found;
}

}  // namespace snug
