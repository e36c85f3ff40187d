// Room for the pods that need several GPUs at once: how many of them a node has place for, now or
// when some of its pods have left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "snug/model/demand.hpp"
#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

class RoomView {
 public:
  explicit RoomView(const NodeState& node);

  /// The node as it will be with the placement of a pod that asks for `host`.
  void place(PlacementView placement, const HostAmounts& host);

  /// The sum over shapes of their part of the demand x GPUs x what their rooms count, in parts of
  /// kOne of a milli-GPU. The first room takes the GPUs with the fewest pods, the second those with
  /// the next. One that is free counts 1, one for which D pods have to leave 0.35^D: those on its
  /// GPUs, and as many more as have what is missing of the node's CPU and memory, in the mean.
  [[nodiscard]] std::int64_t value(std::span<const RoomShape> shapes);

 private:
  struct Gpu {
    std::int64_t crowd = 0;  // thousandths of pods that have to leave; 0: it is idle
    HostAmounts host;        // of these
    ModelSet model = 0;
  };
  /// Of the least crowded GPUs together.
  struct Sum {
    std::int64_t crowd = 0;
    std::int64_t cpu_milli = 0;  // free when they are idle
    std::int64_t memory_mib = 0;
  };

  void add_up(ModelSet models);
  [[nodiscard]] std::int64_t leaving(const Sum& sum, std::int64_t rooms,
                                     const RoomShape& shape) const;

  const NodeState& node_;
  std::vector<Gpu> gpus_;
  std::vector<Sum> sums_;  // of the first 0, 1, 2, ... GPUs by crowd
  std::int64_t cpu_milli_;
  std::int64_t memory_mib_;
  std::int64_t crowd_;  // of all pods on the node, those without GPUs included
};

}  // namespace snug
