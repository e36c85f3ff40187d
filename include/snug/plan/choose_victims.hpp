// Chooses the victims on one node whose eviction makes the node feasible for a pod: its GPUs, CPU,
// memory and pod slot. Corrects the choice of kube-scheduler, which knows only CPU, memory and
// extended resources, also if kube-scheduler has chosen no victim. docs/preemption.md has the
// rules. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/host_resources.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::plan {

/// The pod that preempts.
struct Preemptor {
  IncomingPod incoming;
  bool has_other_constraints = false;  // PodFacts
};

/// One node that kube-scheduler proposes for preemption. The referenced objects must outlive the
/// decision.
struct EvictionCandidate {
  const model::NodeState& node;
  NodeContext context;
  /// The distinct uids of kube-scheduler's victims; empty: it needs none.
  std::span<const std::string_view> proposed_victims;
  /// Sorted uids of pods that kube-scheduler may not know on this node; they are never added as
  /// victims.
  std::span<const std::string_view> protected_uids;
};

/// The uids of the victims, as views into the offer: the most important first, as kube-scheduler
/// expects, then those that are not on the node. Empty: no eviction makes the pod fit, or none is
/// needed.
///   - All victims on the node have a lower priority than the pod, and their eviction suffices.
///   - Each victim that kube-scheduler did not choose is necessary. A victim that kube-scheduler
///     chose is removed only if it was certainly chosen for CPU, memory, GPUs or pod slots.
/// Work is limited (kMaxEvictionWork): with very many pods, or a request that is hard to place,
/// unnecessary victims may remain. `memo` must belong to the pod's request; its entries from other
/// nodes save work within that limit and have no other effect.
[[nodiscard]] std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                                           const EvictionCandidate& candidate,
                                                           fit::FitMemo& memo);

}  // namespace snug::plan
