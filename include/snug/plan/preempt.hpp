// Whom to evict on one node so that a pod gets its GPUs there, and its cpu, memory and place among
// the node's pods. Corrects what kube-scheduler chose by looking at cpu, memory and extended
// resources alone, and chooses where it found nobody to evict. docs/preemption.md has the rules.
// Pure: the same node, pod and choice give the same answer.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/host.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"

namespace snug {

/// Who wants to come in.
struct Preemptor {
  Claim claim;
  bool other_constraints = false;  // PodFacts
};

/// One node that kube-scheduler offers. The views outlive the decision.
struct EvictionOffer {
  const NodeState& node;
  Around around;
  /// The pods that kube-scheduler would evict, by uid, each once; empty: it found no need to.
  std::span<const std::string_view> chosen;
  /// Pods that kube-scheduler may not know on the node, sorted by uid: they are not added.
  std::span<const std::string_view> spared;
};

/// The uids of the pods to evict, views into the offer, the most important first, as kube-scheduler
/// expects it; those that the node does not know come last. Empty: no eviction helps the pod here,
/// or none is needed.
///   - All but the unknown ones have a lower priority than the pod, and without them its GPUs,
///     cpu, memory and place are free.
///   - Nobody can be left out of them who was not chosen by kube-scheduler. One that was chosen is
///     left out only where it is sure that nothing but cpu, memory, GPUs or places was the reason.
/// With very many pods, or a request that is hard to place, some may be named who need not go: what
/// a decision may cost is bounded (kMostEvictionWork). `memo`: of the pod's request; what other
/// nodes taught it may let a decision get further within that bound, and changes nothing else.
[[nodiscard]] std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                                           const EvictionOffer& offer,
                                                           FitMemo& memo);

}  // namespace snug
