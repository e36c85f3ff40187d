// How much of the extended resources snug.dev/gpu-milli and snug.dev/gpu-memory-mib
// (model/mirrored_amounts.hpp) a container carries in its limits, and a node has in its capacity.
//
// A container is created before Snug chooses its GPU, so its amounts must be correct for every card
// that it may get. The operator names the memory of the smallest and of the largest card: a share
// carries the memory that it is charged on the smallest card, and the compute that it is charged on
// the largest (fit/charge).
//
// Invariant: if Snug can place a set of pods on a node, their amounts together do not exceed the
// node's capacity, whatever cards the node has and whatever range the operator names. So
// kube-scheduler never refuses a node for these resources on which Snug can place the pod. Pure.
#pragma once

#include <string_view>

#include "snug/base/units.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/request.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::admission {

/// The memory of the smallest and of the largest card of the cluster. Both are positive.
struct CardRange {
  base::MebiBytes smallest;
  base::MebiBytes largest;

  friend bool operator==(const CardRange&, const CardRange&) = default;
};

/// The amounts of a slice of this profile: the least that any built-in card charges for it. 1 and 1
/// if no built-in card has the profile.
[[nodiscard]] model::MirroredAmounts slice_amounts(std::string_view profile);

/// The amounts of one container, for all its devices together. Both are positive, unless the
/// kubelet assigns the devices: then both are 0.
[[nodiscard]] model::MirroredAmounts container_amounts(const model::ContainerRequest& request,
                                                       const CardRange& cards);

/// The capacity of a node: of its open GPUs, and of the closed and vanished ones that pods still
/// hold. On a node whose cards are in the range it is exact, except for GPUs in MIG mode: the
/// compute of slices and of shares is counted differently, so the sum over a full card may exceed
/// 1000.
[[nodiscard]] model::MirroredAmounts node_amounts(const model::NodeState& node,
                                                  const CardRange& cards);

}  // namespace snug::admission
