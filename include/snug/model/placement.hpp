// The devices chosen for a request on one node. Nothing is reserved yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::model {

/// What one container takes of one GPU.
struct DeviceAllocation {
  std::uint16_t container = 0;  // position in GpuRequest::containers
  std::uint16_t gpu = 0;        // position in NodeState::gpus
  GpuMode mode = GpuMode::kNone;
  // By how much the take lowers GpuState::free_milli_sum and GpuState::free_milli, after the
  // placement's earlier takes.
  std::int32_t milli_sum = 0;
  std::int32_t milli = 0;
  base::MebiBytes memory;
  base::MilliGpu compute;
  MigPlacement slice;  // of the GPU's table; only with mode kMig
};

/// Has no takes for a kubelet-assigned request, which is charged to the node by count.
struct Placement {
  std::vector<DeviceAllocation> allocations;
};

/// A non-owning view of a placement.
struct PlacementView {
  std::span<const DeviceAllocation> allocations;

  explicit PlacementView(std::span<const DeviceAllocation> the_takes) : allocations(the_takes) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view converts from what it views.
  PlacementView(const Placement& placement) : allocations(placement.allocations) {}
  [[nodiscard]] Placement copy() const { return {{allocations.begin(), allocations.end()}}; }
};

/// Whether `take` is the first of the placement's takes on its GPU, which several containers may
/// share.
[[nodiscard]] inline bool is_first_on_gpu(PlacementView placement,
                                          const DeviceAllocation& allocation) {
  for (const DeviceAllocation& other : placement.allocations) {
    if (&other == &allocation) return true;
    if (other.gpu == allocation.gpu) return false;
  }
  return true;
}

/// The feasible placements on a node, in one block of memory that is reused from node to node.
class PlacementList {
 public:
  void clear() {
    allocations_.clear();
    ends_.clear();
  }
  /// Adds a take to the current placement, which close() completes.
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
