// Chooses the victims on one node whose eviction makes a pod fit: its GPUs, CPU, memory and place
// among the node's pods. Corrects the choice of kube-scheduler, which knows CPU, memory and
// extended resources alone, and chooses where kube-scheduler found no need to evict. The rules are
// in docs/preemption.md. Pure: the same input gives the same answer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/host.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"

namespace snug {

/// The pod that preempts.
struct Preemptor {
  Claim claim;
  bool other_constraints = false;  // PodFacts
};

/// One node that kube-scheduler offers. The referenced objects outlive the decision.
struct EvictionOffer {
  const NodeState& node;
  Around around;
  /// The uids of the pods that kube-scheduler would evict, distinct; empty: it found no need to.
  std::span<const std::string_view> chosen;
  /// Sorted uids of pods that kube-scheduler may not know on this node: never added as victims.
  std::span<const std::string_view> spared;
};

/// The uids of the victims, views into the offer: most important first, as kube-scheduler expects,
/// then those that are not on the node. Empty: no eviction makes the pod fit, or none is needed.
///   - All victims on the node have a lower priority than the pod, and without them it fits.
///   - Without any of them that kube-scheduler did not choose it would not fit. A pod that
///     kube-scheduler chose is dropped only if its reason was certainly CPU, memory, GPUs or
///     places.
/// Work is bounded (kMostEvictionWork): with very many pods, or a request that is hard to place,
/// needless victims may remain. `memo`: of the pod's request; what it learned on other nodes saves
/// work within that bound and changes nothing else.
[[nodiscard]] std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                                           const EvictionOffer& offer,
                                                           FitMemo& memo);

}  // namespace snug
