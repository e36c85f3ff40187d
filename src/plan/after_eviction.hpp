// Decides whether the preemptor fits on a node after some of its pods have been evicted. Caches the
// results. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/plan/preempt.hpp"

namespace snug {

/// A set of NodeState::holdings, indexed by position.
using PodSet = std::vector<bool>;

class AfterEviction {
 public:
  /// All arguments must outlive it. `memo` must belong to the preemptor's request.
  AfterEviction(const Preemptor& preemptor, const NodeState& node, const Around& around,
                FitMemo& memo);

  /// Why its GPU request does not fit without evictions; kNone: it fits.
  [[nodiscard]] ReasonCode reason_now() { return reason_on(node_, around_.held); }
  [[nodiscard]] bool fits(const PodSet& gone) { return host_fits(gone) && gpus_fit(gone); }
  /// Returns false without a trial once the limit on work has been reached.
  [[nodiscard]] bool gpus_fit(const PodSet& gone);
  /// As kube-scheduler's NodeResourcesFit; true if the node's allocatable is unknown.
  [[nodiscard]] bool host_fits(const PodSet& gone) const;

  [[nodiscard]] bool has_gpus(std::size_t pod) const {
    return !node_.holdings[pod]->of_host_alone();
  }
  /// Whether the limit on work has been reached.
  [[nodiscard]] bool ran_out() const { return ran_out_; }
  /// Makes the work available that is reserved for the last pass.
  void begin_last_pass() { most_work_ = kMostEvictionWork; }
  /// Whether pods are nominated to the node.
  [[nodiscard]] bool keeps_for_others() const {
    return around_.nominations != nullptr && !around_.nominations->empty();
  }

 private:
  [[nodiscard]] ReasonCode reason_on(const NodeState& state, const NamespaceUse& held);
  [[nodiscard]] bool try_without(const PodSet& gone);
  [[nodiscard]] NamespaceUse held_without(const PodSet& gone) const;

  const Preemptor& preemptor_;
  const NodeState& node_;
  const Around& around_;
  FitMemo& memo_;
  std::int64_t began_;  // FitMemo::work at the start
  bool ran_out_ = false;
  std::int64_t most_work_ = kMostEvictionWork - kLastPassWork;
  std::vector<std::size_t> gpu_pods_;       // the pods that hold GPUs
  std::unordered_map<PodSet, bool> known_;  // by the gpu_pods_ that are gone
};

}  // namespace snug
