// The devices chosen for a request on one node. Nothing is reserved yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/node.hpp"

namespace snug {

/// What one container takes of one GPU.
struct DeviceTake {
  std::uint16_t container = 0;  // position in GpuRequest::containers
  std::uint16_t gpu = 0;        // position in NodeState::gpus
  GpuMode mode = GpuMode::kNone;
  // By how much the take lowers GpuState::room and GpuState::left, after the placement's earlier
  // takes.
  std::int32_t room = 0;
  std::int32_t milli = 0;
  MebiBytes memory;
  MilliGpu compute;
  MigPlacement slice;  // of the GPU's table; only with mode kMig
};

/// Has no takes for a kubelet-assigned request, which is charged to the node by count.
struct Placement {
  std::vector<DeviceTake> takes;
};

/// A non-owning view of a placement.
struct PlacementView {
  std::span<const DeviceTake> takes;

  explicit PlacementView(std::span<const DeviceTake> the_takes) : takes(the_takes) {}
  // NOLINTNEXTLINE(google-explicit-constructor): a view converts from what it views.
  PlacementView(const Placement& placement) : takes(placement.takes) {}
  [[nodiscard]] Placement copy() const { return {{takes.begin(), takes.end()}}; }
};

/// Whether `take` is the first of the placement's takes on its GPU, which several containers may
/// share.
[[nodiscard]] inline bool is_first_on_its_gpu(PlacementView placement, const DeviceTake& take) {
  for (const DeviceTake& other : placement.takes) {
    if (&other == &take) return true;
    if (other.gpu == take.gpu) return false;
  }
  return true;
}

/// The feasible placements on a node, in one block of memory that is reused from node to node.
class PlacementList {
 public:
  void clear() {
    takes_.clear();
    ends_.clear();
  }
  /// Adds a take to the current placement, which close() completes.
  void add(const DeviceTake& take) { takes_.push_back(take); }
  void close() { ends_.push_back(takes_.size()); }

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] PlacementView operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return PlacementView(std::span(takes_).subspan(begin, ends_[i] - begin));
  }

 private:
  std::vector<DeviceTake> takes_;
  std::vector<std::size_t> ends_;
};

}  // namespace snug
