// Finds a few pods to move to other GPUs so that a request fits which fits nowhere now. Advice
// only: nothing is reserved and nobody is evicted. Pure: the same snapshot and claim give the same
// answer; work is bounded by steps, not by time. Ties go to the bytewise lower node name, then to
// the lower uid. The rules are in docs/decisions/0022-repacking-advice.md.
//
// To move a pod is to delete it: its controller creates a new one, which is scheduled like any
// other. So moves have an order, and each must fit on the cluster that the moves before it leave.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"

namespace snug {

struct RepackInput {
  const Snapshot& snapshot;
  Claim claim;  // the pod holds nothing
  /// Sorted uids of pods that must not be moved.
  std::span<const std::string_view> spared;
};

struct PodMove {
  HoldingPtr pod;  // as it is now
  Reservation to;  // what it holds after the move
};

struct RepackAdvice {
  bool fits = false;  // without any move
  /// What the request gets on the cluster after the moves; nothing: no moves were found.
  std::optional<Reservation> reservation;
  /// In order. Each pod fits in its new place on the cluster after the moves before it, and closes
  /// no GPU; the request fits after all of them.
  std::vector<PodMove> moves;
  std::string because;  // a sentence for people, if no moves were found
};

/// The fewest moves, then those of the least milli-GPU, found within kMostRepackWork; optimal up to
/// two moves unless the work runs out.
///   - Only pods are moved whose request is known and which nothing ties to their node as far as
///   the
///     snapshot tells: no pods with devices of the kubelet's choice, no terminating, suspect or
///     spared ones, none with other constraints (Holding).
///   - The target node also has the request's CPU, memory and place among its pods, if known.
[[nodiscard]] RepackAdvice repack(const RepackInput& input);

}  // namespace snug
