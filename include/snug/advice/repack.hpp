// Advises which pods to move to other GPUs so that a request becomes feasible. It is for a request
// that fits on no node now. Reserves nothing and evicts no pod. Pure: the same snapshot and request
// produce the same advice. Among equal solutions, chooses the one with the bytewise lower node
// name, then the one with the lower uids. The rules are in docs/decisions/0022-repacking-advice.md.
//
// To move a pod means to delete it: its controller creates a new pod, which is placed like any
// other pod. The moves are therefore made in order, and each must be feasible after the moves
// before it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::advice {

struct RepackInput {
  const model::Snapshot& snapshot;
  plan::IncomingPod incoming;  // the pod with the request; it has no holding
  /// Sorted uids of pods that must not be moved, in addition to those that repack() excludes.
  std::span<const std::string_view> protected_uids;
  std::int64_t max_work = base::kMaxRepackWork;  // the work after which the search ends
  /// Sorted positions in Snapshot::nodes: the only nodes that the request may get; nullopt: all.
  /// Pods are moved to any node.
  std::optional<std::span<const std::uint32_t>> targets = {};
};

struct PodMove {
  model::HoldingPtr from;  // the pod's holding before the move
  model::Reservation to;   // the pod's reservation after the move
};

struct RepackAdvice {
  bool fits_now = false;  // the request is feasible without moves, and `moves` is empty
  /// The reservation that the request gets after the moves; nullopt: no solution was found.
  std::optional<model::Reservation> reservation;
  /// The moves, in the order in which they must be made. fit() has confirmed that each pod's new
  /// placement is feasible after the moves before it, and that the request is feasible after all
  /// moves. No move closes a GPU.
  std::vector<PodMove> moves;
  std::string explanation;  // one sentence for the user that says why no solution was found
};

/// Searches for the solution with the fewest moves. If several solutions have equally many moves,
/// prefers the one that moves the fewest milli-GPU. The work of the search is limited
/// (RepackInput::max_work). A result of one or two moves is minimal unless the search reached this
/// limit.
///   - A pod is moved only if its request is known, Snug has written its reservation, and
///     nothing ties it to its node. Kubelet-assigned, terminating and suspect pods, pods in
///     `protected_uids`, and pods with Holding::has_other_constraints are never moved.
///   - After the moves, the node for the request has enough CPU, memory and pod slots, if the
///     node's allocatable is known.
[[nodiscard]] RepackAdvice repack(const RepackInput& input);

}  // namespace snug::advice
