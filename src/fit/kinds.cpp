#include "fit/kinds.hpp"

#include <algorithm>

#include "fit/slices.hpp"

namespace snug {
namespace {

/// As much as no GPU has: what a vanished one may have had.
constexpr MebiBytes kAnySize{kLargestQuantity};

bool vanished(const GpuState& gpu) { return gpu.closure == GpuClosure::kVanished; }

/// A vanished GPU may have been one for any mode.
void set_modes(GpuKind& kind, Level level, const GpuState& gpu) {
  if (level < Level::kMode || vanished(gpu)) {
    kind.shared_as.fill(GpuMode::kTimeSlicing);
    kind.whole = true;
    kind.any_profile = true;
    return;
  }
  const bool as_it_is = level >= Level::kRoom;
  kind.whole = gpu.takes_whole && (!as_it_is || gpu.empty());
  if (as_it_is && !gpu.empty() && !shares(gpu.mode)) return;
  for (std::size_t i = 0; i < kind.shared_as.size(); ++i) {
    const auto isolation = static_cast<Isolation>(i);
    kind.shared_as.at(i) =
        shares(gpu.mode) ? serving_mode(gpu, isolation) : opened_as(*gpu.info, isolation);
  }
}

/// In MIG mode: whatever else the GPU could do by fewer constraints, it has slices.
void set_slices(GpuKind& kind, Level level, const NodeInventory& node, const GpuState& gpu) {
  kind.mig = mig_room_by(node, gpu, level);
  if (level < Level::kMode) return;
  for (std::size_t i = 0; i < kind.shared_as.size(); ++i) {
    const bool slice = may_be_slice(static_cast<Isolation>(i));
    kind.shared_as.at(i) = slice ? GpuMode::kMig : GpuMode::kNone;
  }
}

}  // namespace

MebiBytes weigh_at(const NodeState& node) {
  MebiBytes largest;
  for (const GpuState& gpu : node.gpus) {
    if (!vanished(gpu)) largest = std::max(largest, gpu.memory);
  }
  return largest.value > 0 ? largest : kAnySize;
}

GpuKind kind_of(const NodeState& node, std::size_t position, const KindView& view) {
  const GpuState& gpu = node.gpus[position];
  const Level level = view.level;
  const MebiBytes capacity = vanished(gpu) ? kAnySize : gpu.memory;
  GpuKind kind{.free = {.memory = capacity, .compute = kWholeGpu},
               .capacity = capacity,
               .weigh_at = view.weigh_at};
  if (level >= Level::kHealth && gpu.closure != GpuClosure::kOpen) return kind;
  if (level >= Level::kRoom) kind.free = {gpu.free_memory(), gpu.free_compute()};
  kind.allowed = view.takers;
  set_modes(kind, level, gpu);
  if (takes_slices(*gpu.info)) {
    set_slices(kind, level, *node.inventory, gpu);
  } else if (level >= Level::kMode && view.unenforced && !vanished(gpu)) {
    kind.shared_as.fill(GpuMode::kNone);
  }
  if (level >= Level::kTenants && view.apart) kind.shared_as.fill(GpuMode::kNone);
  return kind;
}

}  // namespace snug
