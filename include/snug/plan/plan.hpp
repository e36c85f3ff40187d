// A decision over many nodes: finds the feasible placements on each, removes those that would take
// capacity reserved for nominated pods, scores the others, and chooses the best node. Pure: equal
// inputs have equal results, bit for bit. Ties are broken by the bytewise lower node name, and on a
// node by the lower GPU position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/incoming_pod.hpp"
#include "snug/plan/verdict_cache.hpp"

namespace snug::plan {

struct Verdict {
  model::ReasonCode reason = model::ReasonCode::kNone;  // kNone: the node is feasible
  std::int64_t score_class = 0;  // of its best placement (Profile::score_class_of)
};

struct PlanInput {
  const model::Snapshot& snapshot;
  IncomingPod incoming;  // the pod's own intent and nomination do not count against it
  VerdictCache* cache =
      nullptr;  // of this ledger and the claim's verdict_cache_key(); null: no cache
};

struct Plan {
  std::vector<Verdict> verdicts;      // one for each candidate
  std::optional<std::size_t> winner;  // position of the best candidate
  model::Placement placement;         // the winner's
};

/// Candidates are node names. One that is not in the snapshot has the reason kUnknownNode.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const std::string_view> candidates);
/// The same for nodes of the snapshot, which must be in ascending order of names.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const base::NodeIndex> candidates);

struct NodeChoice {
  model::ReasonCode reason = model::ReasonCode::kNone;
  std::int64_t score_class = 0;
  model::Placement placement;
};

/// The best placement on one node, for bind.
[[nodiscard]] NodeChoice choose_placement(const model::NodeState& node, const IncomingPod& incoming,
                                          const NodeContext& context);

/// kube-scheduler's MaxExtenderPriority.
inline constexpr int kMaxExtenderPriority = 10;

/// A score from 0 to kMaxExtenderPriority for each candidate, linear in its score class. Only
/// candidates of the best class have kMaxExtenderPriority; infeasible ones have 0.
[[nodiscard]] std::vector<int> extender_scores(const Plan& plan);

/// The holding of the claim's pod with this placement on this node.
[[nodiscard]] std::shared_ptr<model::Holding> to_holding(const model::NodeState& node,
                                                         const IncomingPod& incoming,
                                                         model::PlacementView placement);

}  // namespace snug::plan
