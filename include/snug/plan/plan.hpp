// A decision over many nodes. Finds the feasible placements on each node, removes those that would
// take capacity kept free for nominated pods, scores the others, and chooses the best node. Among
// equal nodes the bytewise lower name wins; among equal placements on a node the lower GPU position
// wins. Pure: equal inputs have equal results, bit for bit.
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
  std::int64_t score_class = 0;                         // the score class of the best placement
};

struct PlanInput {
  const model::Snapshot& snapshot;
  IncomingPod incoming;  // the pod's own intent and nomination are ignored
  /// The cache for this ledger and verdict_cache_key(incoming); null: no cache is used.
  VerdictCache* cache = nullptr;
};

/// The position of a candidate that is not in the snapshot.
inline constexpr std::uint32_t kNoSlot = UINT32_MAX;

struct Plan {
  std::vector<Verdict> verdicts;      // one for each candidate
  std::vector<std::uint32_t> slots;   // of each candidate: its position in the snapshot, or kNoSlot
  std::optional<std::size_t> winner;  // position of the best candidate; nullopt: none is feasible
  /// The position of the best candidate besides the winner; nullopt: no other one is feasible.
  std::optional<std::size_t> runner_up;
  model::Placement placement;  // the best placement on the winner
};

/// The reason that says best why none of the candidates takes the pod. If a candidate could serve
/// the pod once other pods have gone, it is the reason of the nearest such candidate, else the most
/// frequent one. kNone: there is no candidate.
[[nodiscard]] model::ReasonCode main_reason(std::span<const Verdict> verdicts);

/// Decides about candidates that are given by node name. A name that is not in the snapshot has the
/// reason kUnknownNode.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const std::string_view> candidates);
/// Decides about candidates that are given by position in the snapshot. They must be in ascending
/// order of their names.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const base::NodeIndex> candidates);

struct NodeChoice {
  model::ReasonCode reason = model::ReasonCode::kNone;
  std::int64_t score_class = 0;
  model::Placement placement;
};

/// Returns the best placement on one node, or the reason why there is none. bind uses it.
[[nodiscard]] NodeChoice choose_placement(const model::NodeState& node, const IncomingPod& incoming,
                                          const NodeContext& context);

/// The highest score that an extender may return: kube-scheduler's MaxExtenderPriority.
inline constexpr int kMaxExtenderPriority = 10;

/// Returns a score from 0 to kMaxExtenderPriority for each candidate. The score is linear in the
/// candidate's score class; only candidates of the best class have kMaxExtenderPriority. Infeasible
/// candidates have 0.
[[nodiscard]] std::vector<int> extender_scores(const Plan& plan);

/// Returns the holding that the incoming pod would have with this placement on this node.
[[nodiscard]] std::shared_ptr<model::Holding> to_holding(const model::NodeState& node,
                                                         const IncomingPod& incoming,
                                                         model::PlacementView placement);

}  // namespace snug::plan
