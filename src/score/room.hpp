// Room for the pods that need several GPUs at once: how many of them a node has place for, now or
// when some of its pods have left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "snug/base/limits.hpp"
#include "snug/model/demand.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// A node's rooms. Of its GPUs the first kMostRoomGpus count.
///
/// The first room of a shape takes the GPUs with the fewest pods, the second those with the next. A
/// room that is free counts in full, one for which pods have to leave as RoomShape::fade says:
/// those on its GPUs, and as many more as have what is missing of the node's CPU and memory, in the
/// mean.
class RoomView {
 public:
  explicit RoomView(const NodeState& node);

  /// The node as it will be with the placement of a pod that asks for `host`. Without takes, where
  /// the kubelet picks, `milli` of GPUs count as the idle ones that come first.
  [[nodiscard]] RoomView with(PlacementView placement, std::int64_t milli,
                              const HostAmounts& host) const;

  /// The sum over shapes of their part of the demand x GPUs x what their rooms count, in parts of
  /// kOne of a milli-GPU.
  [[nodiscard]] std::int64_t value(std::span<const RoomShape> shapes) const;

 private:
  struct Gpu {
    ModelSet model = 0;  // 0: takes no whole pod
    std::uint32_t position = 0;
    std::int32_t crowd = 0;       // thousandths of pods that have to leave; 0: it is idle
    std::int64_t cpu_milli = 0;   // of these
    std::int64_t memory_mib = 0;  // of these
  };
  /// Of the least crowded GPUs together.
  struct Sum {
    std::int64_t crowd = 0;
    std::int64_t cpu_milli = 0;  // free when they are idle
    std::int64_t memory_mib = 0;
    // What each pod that is left has of the node's, in the mean.
    std::int64_t cpu_each = 1;
    std::int64_t memory_each = 1;
  };
  using Sums = std::array<Sum, kMostRoomGpus + 1>;

  void sort();
  /// So many more of the GPUs that are idle are held by so many thousandths of pods.
  void hold_by_count(std::int64_t gpus, std::int64_t crowd);
  /// Of the first 0, 1, 2, ... GPUs of these models; returns how many there are.
  std::size_t add_up(ModelSet models, Sums& sums) const;
  [[nodiscard]] std::int64_t leaving(const Sum& sum, std::int64_t rooms,
                                     const RoomShape& shape) const;

  std::array<Gpu, kMostRoomGpus> gpus_;  // by crowd, then by position
  std::size_t count_ = 0;
  bool limited_;               // the node says what it has
  std::int64_t by_count_ = 0;  // milli-GPU that the kubelet's pods hold
  Sum has_;                    // the node's, and all its pods' crowd
  Sum free_;
};

}  // namespace snug
