// Explains decisions to people: why a pod fits on no node, how near it is, who is in the way, what
// would make it fit, and why a bound pod is where it is. Uses the same rules as filter and bind
// (plan/placement_finder), so an explanation cannot contradict a decision. Pure: the same snapshot
// and pod give the same explanation. Reserves nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/explain/explanation.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"

namespace snug::explain {

/// The referenced objects must outlive the call.
struct ExplainInput {
  const model::Snapshot& snapshot;
  plan::IncomingPod incoming;  // the pod has no holding
  /// Sorted uids of pods whose binds are in flight. Advice never names them.
  std::span<const std::string_view> protected_uids = {};
  /// Sorted positions in Snapshot::nodes: the only nodes that kube-scheduler offers the pod;
  /// nullopt: all. Positions without a node are ignored.
  std::optional<std::span<const std::uint32_t>> offered = {};
  bool per_node = false;  // whether Explanation::per_node is filled

  [[nodiscard]] bool is_offered(std::uint32_t slot) const {
    return !offered || std::ranges::binary_search(*offered, slot);
  }
};

/// The containers that request GPUs, in the pod's order.
[[nodiscard]] std::vector<RequestInWords> request_in_words(const model::GpuRequest& request);

/// Explains why the pod fits or does not fit on the nodes that it is offered.
///   - Each advice has been tried on the snapshot: after this change alone the pod fits on a node
///     that it is offered.
///   - Each search for advice is limited (the limits of explanations in limits.hpp), so it may not
///     find all advice.
[[nodiscard]] Explanation explain(const ExplainInput& input);

/// Compares the best placement on the node `chosen` with the best one on `runner_up`; nullopt:
/// there is no runner-up. The snapshot must show the cluster without the pod. Returns nullopt if
/// the pod does not fit on `chosen`.
[[nodiscard]] std::optional<PlacementComparison> compare_placements(
    const ExplainInput& input, std::string_view chosen, std::optional<std::string_view> runner_up);

/// Compares the node of a bound pod with the best of the others, as if the pod were not bound.
/// `snapshot` shows the pod as bound; `incoming` is the pod, and `holding` what it holds.
[[nodiscard]] std::optional<PlacementComparison> compare_bound(const model::Snapshot& snapshot,
                                                               const plan::IncomingPod& incoming,
                                                               const model::Holding& holding);

/// Compares the node that filter would choose now, of those that the pod is offered, with the best
/// of the others; nullopt: the pod fits on none of them. `explanation`: the result of explain().
[[nodiscard]] std::optional<PlacementComparison> compare_best(const ExplainInput& input,
                                                              const Explanation& explanation);

}  // namespace snug::explain
