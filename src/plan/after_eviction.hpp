// Decides whether the preemptor fits on a node after some of its pods have been evicted. Caches the
// results. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/plan/choose_victims.hpp"

namespace snug::plan {

/// A set of NodeState::holdings, indexed by position.
using PodSet = std::vector<bool>;

class AfterEviction {
 public:
  /// All arguments must outlive it. `memo` must belong to the preemptor's request.
  AfterEviction(const Preemptor& preemptor, const model::NodeState& node,
                const NodeContext& context, fit::FitMemo& memo);

  /// Why its GPU request does not fit without evictions; kNone: it fits.
  [[nodiscard]] model::ReasonCode reason_now() {
    return reason_on(node_, context_.namespace_usage);
  }
  [[nodiscard]] bool fits(const PodSet& gone) { return host_fits(gone) && gpus_fit(gone); }
  /// Returns false without a trial once the limit on work has been reached.
  [[nodiscard]] bool gpus_fit(const PodSet& gone);
  /// As kube-scheduler's NodeResourcesFit; true if the node's allocatable is unknown.
  [[nodiscard]] bool host_fits(const PodSet& gone) const;

  [[nodiscard]] bool has_gpus(std::size_t pod) const { return !node_.holdings[pod]->is_cpu_only(); }
  /// Whether the limit on work has been reached.
  [[nodiscard]] bool budget_exhausted() const { return budget_exhausted_; }
  /// Makes the work available that is reserved for the last pass.
  void begin_last_pass() { work_budget_ = base::kMaxEvictionWork; }
  /// Whether pods are nominated to the node.
  [[nodiscard]] bool has_nominations() const {
    return context_.nominations != nullptr && !context_.nominations->empty();
  }

 private:
  [[nodiscard]] model::ReasonCode reason_on(const model::NodeState& state,
                                            const model::NamespaceUsage& held);
  [[nodiscard]] bool gpus_fit_without(const PodSet& gone);
  [[nodiscard]] model::NamespaceUsage usage_without(const PodSet& gone) const;

  const Preemptor& preemptor_;
  const model::NodeState& node_;
  const NodeContext& context_;
  fit::FitMemo& memo_;
  std::int64_t work_at_start_;  // FitMemo::work at the start
  bool budget_exhausted_ = false;
  std::int64_t work_budget_ = base::kMaxEvictionWork - base::kLastPassWork;
  std::vector<std::size_t> gpu_pods_;              // the pods that hold GPUs
  std::unordered_map<PodSet, bool> fits_without_;  // by the gpu_pods_ that are gone
};

}  // namespace snug::plan
