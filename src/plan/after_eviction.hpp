// A node as it would be without some of its pods: has the pod that wants to come in its GPUs and
// its place there? Remembers what it found out. Not thread-safe; for one decision.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "snug/plan/preempt.hpp"

namespace snug {

/// Which of NodeState::holdings, by position.
using PodSet = std::vector<bool>;

class AfterEviction {
 public:
  /// What is named outlives it.
  AfterEviction(const Preemptor& preemptor, const NodeState& node, const Around& around);

  [[nodiscard]] bool fits(const PodSet& gone) { return host_fits(gone) && gpus_fit(gone); }
  [[nodiscard]] bool gpus_fit(const PodSet& gone);
  /// As kube-scheduler's NodeResourcesFit sees it; true where the node's allocatable is not known.
  [[nodiscard]] bool host_fits(const PodSet& gone) const;

  [[nodiscard]] bool has_gpus(std::size_t pod) const {
    return !node_.holdings[pod]->of_host_alone();
  }
  /// Whether somebody is nominated to the node.
  [[nodiscard]] bool keeps_for_others() const {
    return around_.nominations != nullptr && !around_.nominations->empty();
  }

 private:
  [[nodiscard]] NamespaceUse held_without(const PodSet& gone) const;
  const Preemptor& preemptor_;
  const NodeState& node_;
  const Around& around_;
  std::vector<std::size_t> gpu_pods_;       // only they can change what is free of GPUs
  std::unordered_map<PodSet, bool> known_;  // by which of gpu_pods_ are gone
};

}  // namespace snug
