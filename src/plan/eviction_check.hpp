// Decides whether the preemptor fits on a node after some pods of the node have been evicted.
// Caches the results. Not thread-safe; for one decision.
//
// A nominated pod that outranks the preemptor and fits on the node as it is starts before any
// victim has ended, so it cannot have the GPUs of victims. It counts as if it were bound at its
// tightest placement. The other nominated pods that outrank the preemptor keep their capacity as in
// filter (plan/nomination_guard).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/plan/choose_victims.hpp"

namespace snug::plan {

/// A set of pods of one node: element i is the pod of holding i in NodeState::holdings.
using PodSet = std::vector<bool>;

class EvictionCheck {
 public:
  /// All arguments must outlive this object. `memo` must belong to the preemptor's request.
  EvictionCheck(const Preemptor& preemptor, const model::NodeState& node,
                const NodeContext& context, fit::FitMemo& memo);

  /// Why the preemptor's GPU request does not fit without evictions; kNone: it fits.
  [[nodiscard]] model::ReasonCode reason_now() {
    return reason_on(node_, context_.namespace_usage, context_.nominations);
  }
  /// Whether the preemptor fits after the pods in `evicted` have been evicted.
  [[nodiscard]] bool fits(const PodSet& evicted) { return host_fits(evicted) && gpus_fit(evicted); }
  /// Whether the preemptor's GPU request fits after the pods in `evicted` have been evicted. If the
  /// limit on work is reached and no result is cached, returns false without a trial.
  [[nodiscard]] bool gpus_fit(const PodSet& evicted);
  /// Whether the node has enough CPU, memory, pod slots, and resources that mirror shares for the
  /// preemptor after the pods in `evicted` have been evicted, by plan/node_resources_fit.hpp. Pods
  /// with a GPU request that are nominated to the node count as if they were on it, unless they
  /// have a lower priority than the preemptor. kube-scheduler counts nominated pods without a GPU
  /// request as well. True if the node's allocatable is unknown.
  [[nodiscard]] bool host_fits(const PodSet& evicted) const;

  [[nodiscard]] bool has_gpus(std::size_t pod) const { return !node_.holdings[pod]->is_cpu_only(); }
  /// Whether the limit on work has prevented a trial.
  [[nodiscard]] bool budget_exhausted() const { return budget_exhausted_; }
  /// Raises the limit on work by the part that is reserved for the last pass (kLastPassWork).
  void begin_last_pass() { work_budget_ = base::kMaxEvictionWork; }
  /// Whether pods are nominated to the node.
  [[nodiscard]] bool has_nominations() const {
    return context_.nominations != nullptr && !context_.nominations->empty();
  }

 private:
  /// Fills `started_` and `waiting_`.
  void start_nominated();
  /// Adds the host resources of the nominated pods to `host_used_`, `mirrored_used_` and `pods_`,
  /// by kube-scheduler's rule: their age does not matter.
  void count_nominated_on_host();
  [[nodiscard]] model::ReasonCode reason_on(const model::NodeState& state,
                                            const model::NamespaceUsage& namespace_usage,
                                            const model::Nominations* nominations);
  [[nodiscard]] bool gpus_fit_without(const PodSet& evicted);
  [[nodiscard]] model::NamespaceUsage usage_without(const PodSet& evicted) const;

  const Preemptor& preemptor_;
  const model::NodeState& node_;
  const NodeContext& context_;
  fit::FitMemo& memo_;
  std::int64_t work_at_start_;  // FitMemo::work() before the first trial
  bool budget_exhausted_ = false;
  std::int64_t work_budget_ = base::kMaxEvictionWork - base::kLastPassWork;
  std::vector<model::HoldingPtr> started_;  // the nominated pods that count as bound
  model::Nominations waiting_;              // the other nominated pods
  /// The compute that namespaces hold before any eviction, including that of `started_`.
  model::NamespaceUsage namespace_usage_;
  // For host_fits(): what pods use that are not in NodeState::holdings, and the number of all pods.
  model::HostResources host_used_;
  model::MirroredAmounts mirrored_used_;
  std::int64_t pods_;
  std::vector<std::size_t> gpu_pods_;              // positions of the pods that hold GPUs
  std::unordered_map<PodSet, bool> fits_without_;  // results, by the set of evicted gpu_pods_
};

}  // namespace snug::plan
