// A node as it would be without some of its pods: has the pod that wants to come in its GPUs and
// its place there? Remembers what it found out. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/plan/preempt.hpp"

namespace snug {

/// Which of NodeState::holdings, by position.
using PodSet = std::vector<bool>;

class AfterEviction {
 public:
  /// What is named outlives it. `memo`: of the preemptor's request.
  AfterEviction(const Preemptor& preemptor, const NodeState& node, const Around& around,
                FitMemo& memo);

  /// Why the pod has no GPUs there while all are on it; kNone: it has.
  [[nodiscard]] ReasonCode reason_now() { return reason_on(node_, around_.held); }
  [[nodiscard]] bool fits(const PodSet& gone) { return host_fits(gone) && gpus_fit(gone); }
  /// Beyond the bound on work no longer tried, and false.
  [[nodiscard]] bool gpus_fit(const PodSet& gone);
  /// As kube-scheduler's NodeResourcesFit sees it; true where the node's allocatable is not known.
  [[nodiscard]] bool host_fits(const PodSet& gone) const;

  [[nodiscard]] bool has_gpus(std::size_t pod) const {
    return !node_.holdings[pod]->of_host_alone();
  }
  /// Something was not tried any more.
  [[nodiscard]] bool ran_out() const { return ran_out_; }
  /// From here on what is left of the bound on work may be used up.
  void begin_last_pass() { most_work_ = kMostEvictionWork; }
  /// Whether somebody is nominated to the node.
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
  std::int64_t began_;  // at this FitMemo::work
  bool ran_out_ = false;
  std::int64_t most_work_ = kMostEvictionWork - kLastPassWork;
  std::vector<std::size_t> gpu_pods_;       // only they can change what is free of GPUs
  std::unordered_map<PodSet, bool> known_;  // by which of gpu_pods_ are gone
};

}  // namespace snug
