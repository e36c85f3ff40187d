#include "sim/gpu_counts.hpp"

#include <algorithm>

#include "snug/base/units.hpp"

namespace snug::sim {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Milli-GPU of units: those of MIG slices and those of whole GPUs or their replicas.
struct UnitSizes {
  std::int64_t slice_milli = 0;
  std::int64_t gpu_milli = 0;
};

UnitSizes sizes_of(const model::UnitsByResource& units, const model::NodeInventory& inventory) {
  UnitSizes sizes;
  const std::int64_t replicas = std::max<std::int64_t>(inventory.replicas, 1);
  for (const auto& [resource, count] : units) {
    const auto unit = inventory.milli_per_unit.find(resource);
    const bool is_known = unit != inventory.milli_per_unit.end();
    const bool names_gpus = resource == model::kGpuResource || resource == model::kSharedResource;
    // A unit of these resources may also be a slice (nvidia.com/mig.strategy=single).
    if (names_gpus && (!is_known || unit->second.value * replicas >= base::kWholeGpu.value)) {
      sizes.gpu_milli += divide_up(count * base::kWholeGpu.value, replicas);
    } else if (is_known) {
      sizes.slice_milli += count * unit->second.value;
    }
  }
  return sizes;
}

/// Moves up to `milli` thousandths of GPUs from `free` to `taken`.
void take(std::int64_t milli, std::int64_t& free, std::int64_t& taken) {
  if (milli <= 0) return;
  const std::int64_t gpus = std::min(free, divide_up(milli, base::kWholeGpu.value));
  free -= gpus;
  taken += gpus;
}

/// Counts a node of which only the units of the device plug-in are known.
GpuCounts count_units(const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  const UnitSizes capacity = sizes_of(inventory.kubelet_capacity, inventory);
  GpuCounts counts;
  counts.gpus = divide_up(capacity.gpu_milli + capacity.slice_milli, base::kWholeGpu.value);
  counts.free_mig = std::min(counts.gpus, divide_up(capacity.slice_milli, base::kWholeGpu.value));
  counts.free = counts.gpus - counts.free_mig;
  return counts;
}

/// What the pods of the GPU hold of it, in thousandths. A closed GPU has no free part.
std::int64_t reserved_milli(const model::GpuState& gpu) {
  if (gpu.closure == model::GpuClosure::kOpen) return base::kWholeGpu.value - gpu.free_milli;
  const std::int64_t capacity = std::max<std::int64_t>(1, gpu.memory.value);
  return std::max(base::kWholeGpu.value * gpu.used_memory.value / capacity, gpu.used_compute.value);
}

}  // namespace

GpuCounts count_gpus(const model::NodeState& node) {
  GpuCounts counts;
  const auto is_listed = [](const model::GpuState& gpu) {
    return gpu.closure != model::GpuClosure::kVanished;
  };
  if (std::ranges::none_of(node.gpus, is_listed)) counts = count_units(node);
  std::int64_t unhealthy = 0;
  for (const model::GpuState& gpu : node.gpus) {
    if (!is_listed(gpu)) continue;  // the node does not have this GPU any more
    ++counts.gpus;
    if (!gpu.info->healthy) ++unhealthy;
    std::int64_t& kind = !gpu.empty()                              ? counts.in_use
                         : gpu.closure != model::GpuClosure::kOpen ? counts.closed
                         : gpu.info->mig_enabled                   ? counts.free_mig
                                                                   : counts.free;
    ++kind;
    if (!gpu.empty()) counts.reserved_milli += reserved_milli(gpu);
  }
  const model::NodeInventory& inventory = *node.inventory;
  const UnitSizes capacity = sizes_of(inventory.kubelet_capacity, inventory);
  const UnitSizes usable = sizes_of(inventory.kubelet_allocatable, inventory);
  // The device plug-in offers fewer units than there are GPUs if some are unhealthy. Labels, unlike
  // the annotation, do not say which.
  take(capacity.gpu_milli - usable.gpu_milli - unhealthy * base::kWholeGpu.value, counts.free,
       counts.closed);
  // Labels, unlike the annotation, do not say which GPUs are in MIG mode: those that the device
  // plug-in does not offer as a whole.
  const bool is_mig_listed = std::ranges::any_of(
      node.gpus, [](const model::GpuState& gpu) { return gpu.info->mig_enabled; });
  if (!node.gpus.empty() && !is_mig_listed && capacity.slice_milli > 0)
    take(counts.gpus * base::kWholeGpu.value - capacity.gpu_milli, counts.free, counts.free_mig);
  const UnitSizes used = sizes_of(node.kubelet_used, inventory);
  take(used.gpu_milli, counts.free, counts.in_use);
  take(used.slice_milli, counts.free_mig, counts.in_use);
  counts.most_free_on_a_node = counts.free;
  counts.reserved_milli += used.gpu_milli + used.slice_milli;
  return counts;
}

GpuCounts count_gpus(const model::Snapshot& snapshot) {
  GpuCounts sum;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node == nullptr) continue;
    const GpuCounts counts = count_gpus(*node);
    sum.gpus += counts.gpus;
    sum.in_use += counts.in_use;
    sum.free += counts.free;
    sum.free_mig += counts.free_mig;
    sum.closed += counts.closed;
    sum.reserved_milli += counts.reserved_milli;
    sum.most_free_on_a_node = std::max(sum.most_free_on_a_node, counts.most_free_on_a_node);
  }
  return sum;
}

}  // namespace snug::sim
