// Which few pods to move to other GPUs so that a request fits that fits nowhere now. Advice alone:
// nothing is reserved and nobody is evicted. Pure: the same snapshot and claim give the same
// answer, however long it takes; ties go to the bytewise lower node name, then to lower uids.
// docs/decisions/0022-repacking-advice.md has the rules.
//
// A pod is moved by its end: its controller makes it anew, and it is placed as if it had just come.
// So moves come in an order, and each is judged on the cluster as the moves before it leave it.
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
  /// Pods that stay where they are whatever the snapshot says of them, sorted by uid.
  std::span<const std::string_view> spared;
};

struct PodMove {
  HoldingPtr pod;  // as it is now
  Reservation to;  // what it would hold instead
};

struct RepackAdvice {
  bool fits = false;  // without any move; then there are none
  /// What the request would have, by fit and score on the cluster after the moves; nothing: no way
  /// was found.
  std::optional<Reservation> reservation;
  /// In the order in which they are to be made. Each pod fits in its new place by fit(), on the
  /// cluster as the moves before it leave it, and closes no GPU; after all of them the request
  /// does.
  std::vector<PodMove> moves;
  std::string because;  // one sentence for a person where no way was found
};

/// The fewest moves, then those of the least milli-GPU, that were found within a bound on work
/// (kMostRepackWork); exact up to two moves while the work lasts.
///   - Only pods are moved whose own request is known and whom nothing else ties to their node, so
///     far as a snapshot tells: not those whose devices the kubelet picks, nor terminating, suspect
///     or spared ones, nor those with other constraints (Holding).
///   - The node of a claim that fits, and of one that fits after moves, has its cpu, memory and
///     place among the node's pods, where these are known.
[[nodiscard]] RepackAdvice repack(const RepackInput& input);

}  // namespace snug
