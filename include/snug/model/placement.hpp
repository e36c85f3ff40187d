// The devices chosen for a request on one node. A placement does not reserve them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::model {

/// The part of one GPU that one container of the request gets.
struct DeviceAllocation {
  std::uint16_t container = 0;  // position in GpuRequest::containers
  std::uint16_t gpu = 0;        // position in NodeState::gpus
  GpuMode mode = GpuMode::kNone;
  // The amounts by which this allocation lowers GpuState::free_milli_sum and GpuState::free_milli,
  // once the earlier allocations of the placement have been subtracted.
  std::int32_t milli_sum = 0;
  std::int32_t milli = 0;
  base::MebiBytes memory;
  base::MilliGpu compute;
  MigPlacement slice;  // profile in the GPU's MIG table, and start; used only in mode kMig
};

/// All allocations of a request on one node. Empty for a kubelet-assigned request, which is charged
/// to the node as a number of units.
struct Placement {
  std::vector<DeviceAllocation> allocations;
};

/// A non-owning view of a placement.
struct PlacementView {
  std::span<const DeviceAllocation> allocations;

  explicit PlacementView(std::span<const DeviceAllocation> the_allocations)
      : allocations(the_allocations) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a placement converts to a view of itself.
  PlacementView(const Placement& placement) : allocations(placement.allocations) {}
  [[nodiscard]] Placement copy() const { return {{allocations.begin(), allocations.end()}}; }
};

/// Whether `allocation` is the first allocation of the placement on its GPU. There may be others,
/// because several containers may use the same GPU.
[[nodiscard]] inline bool is_first_on_gpu(PlacementView placement,
                                          const DeviceAllocation& allocation) {
  for (const DeviceAllocation& earlier : placement.allocations) {
    if (&earlier == &allocation) return true;
    if (earlier.gpu == allocation.gpu) return false;
  }
  return true;
}

/// The feasible placements on a node. clear() keeps the memory for the placements on the next node.
class PlacementList {
 public:
  void clear() {
    allocations_.clear();
    ends_.clear();
  }
  /// Adds an allocation to the current placement. close() completes this placement.
  void add(const DeviceAllocation& allocation) { allocations_.push_back(allocation); }
  void close() { ends_.push_back(allocations_.size()); }

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] PlacementView operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return PlacementView(std::span(allocations_).subspan(begin, ends_[i] - begin));
  }

 private:
  std::vector<DeviceAllocation> allocations_;
  std::vector<std::size_t> ends_;
};

}  // namespace snug::model
