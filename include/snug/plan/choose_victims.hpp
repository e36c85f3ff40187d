// Chooses the victims on one node: the pods whose eviction frees the GPUs, CPU, memory and pod slot
// that the preemptor needs. Corrects the choice of kube-scheduler, which knows only CPU, memory and
// extended resources and may have chosen no victim. Pure. Rules: docs/explanation/preemption.md.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/host_resources.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::plan {

/// The pod for which the victims are evicted.
struct Preemptor {
  IncomingPod incoming;
  bool has_other_constraints = false;  // PodFacts::has_other_constraints
};

/// One node on which kube-scheduler asks for victims. The referenced objects must outlive the
/// decision.
struct EvictionCandidate {
  const model::NodeState& node;
  NodeContext context;
  /// The uids of the victims that kube-scheduler chose, without duplicates; empty: it chose none.
  std::span<const std::string_view> proposed_victims;
  /// Sorted uids of pods whose binds have an unknown outcome. They are never added as victims,
  /// because kube-scheduler possibly does not know that they are on this node.
  std::span<const std::string_view> protected_uids;
};

/// Returns the uids of the victims as views into `candidate`. The most important victim comes
/// first, as kube-scheduler expects; victims that are not on the node come last. Empty: no eviction
/// makes the preemptor fit, or it fits without evictions.
///   - All victims on the node have a lower priority than the preemptor, and it fits after their
///     eviction.
///   - Each victim that kube-scheduler did not choose is necessary. A victim that kube-scheduler
///     chose is removed only if it was certainly chosen for CPU, memory, GPUs or pod slots.
/// The work is limited (kMaxEvictionWork): with very many pods, or with a request that is hard to
/// place, unnecessary victims may remain. `memo` must belong to the preemptor's request. Reusing
/// results that `memo` has cached on other nodes saves part of this work; it has no other effect.
[[nodiscard]] std::vector<std::string_view> choose_victims(const Preemptor& preemptor,
                                                           const EvictionCandidate& candidate,
                                                           fit::FitMemo& memo);

/// Whether the preemptor fits on the node once the pods of `candidate.proposed_victims` and the
/// terminating pods are gone, as far as they have a lower priority. `memo` as above.
[[nodiscard]] bool fits_after_evictions(const Preemptor& preemptor,
                                        const EvictionCandidate& candidate, fit::FitMemo& memo);

}  // namespace snug::plan
