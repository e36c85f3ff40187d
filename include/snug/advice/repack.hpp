// Which few pods to move to other GPUs so that a request fits that fits nowhere now. Advice only:
// nothing is reserved and no pod is evicted. Pure: the same snapshot and claim give the same
// answer; ties go to the bytewise lower node name, then to lower uids.
// docs/decisions/0022-repacking-advice.md has the rules.
//
// To move a pod is to delete it: its controller creates a new one, which is placed like any other.
// So moves have an order, and each is judged on the cluster as the moves before it leave it.
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
  Claim claim;  // of a pod that holds nothing
  /// Uids of further pods that must not be moved, sorted.
  std::span<const std::string_view> spared;
};

struct PodMove {
  HoldingPtr pod;  // what it holds now
  Reservation to;  // what it would hold after the move
};

struct RepackAdvice {
  bool fits = false;  // without any move; then there are none
  /// What the request would get, by fit and score on the cluster after the moves; nothing: no way
  /// was found.
  std::optional<Reservation> reservation;
  /// In the order in which they are to be made. By fit(), each pod fits in its new place on the
  /// cluster as the moves before it leave it, and closes no GPU; after all moves so does the
  /// request.
  std::vector<PodMove> moves;
  std::string because;  // one sentence for a person where no way was found
};

/// The fewest moves, then those of the least milli-GPU, that are found within a bound on work
/// (kMostRepackWork); up to two moves the minimum is exact unless the work runs out.
///   - A pod is moved only if its own request is known and nothing that a snapshot shows ties it to
///     its node: not if the kubelet picks its devices, nor if it is terminating, suspect or spared,
///     or has other constraints (Holding).
///   - The node on which the request fits has enough cpu, memory and pod slots for it, where these
///     are known.
[[nodiscard]] RepackAdvice repack(const RepackInput& input);

}  // namespace snug
