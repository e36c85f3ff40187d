// Advises which pods to move to other GPUs so that a request becomes feasible that no node can
// take now. Advice only: nothing is reserved and no pod is evicted. Pure: the same snapshot and
// claim produce the same advice; ties go to the bytewise lower node name, then to lower uids.
// The rules are in docs/decisions/0022-repacking-advice.md.
//
// A pod is moved by deleting it: its controller creates a new pod, which is placed like any other.
// The moves are therefore ordered, and each must be feasible after the moves before it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::advice {

struct RepackInput {
  const model::Snapshot& snapshot;
  plan::IncomingPod incoming;  // its pod has no holding
  /// Sorted uids of pods that must not be moved, in addition to those that repack() excludes.
  std::span<const std::string_view> protected_uids;
};

struct PodMove {
  model::HoldingPtr from;  // its holding before the move
  model::Reservation to;   // its reservation after the move
};

struct RepackAdvice {
  bool fits_now = false;  // the request is feasible without moves, and `moves` is empty
  /// The reservation that the request would get after the moves; nullopt: no solution was found.
  std::optional<model::Reservation> reservation;
  /// In the order in which they must be made. Each placement is feasible (fit()) after the moves
  /// before it and closes no GPU; the same holds for the request after all moves.
  std::vector<PodMove> moves;
  std::string explanation;  // if no solution was found: one sentence that explains it to the user
};

/// Finds the fewest moves, and among equally many those of the fewest milli-GPU, within a bound on
/// the work of the search (kMaxRepackWork). A result of one or two moves is minimal unless the
/// search reached that bound.
///   - A pod is moved only if its request is known and the snapshot shows nothing that binds it to
///     its node. The kubelet must not assign its devices, and it must not be terminating, suspect,
///     in `spared`, or have other constraints (Holding).
///   - The node for the request has enough CPU, memory and pod slots, if these are known.
[[nodiscard]] RepackAdvice repack(const RepackInput& input);

}  // namespace snug::advice
