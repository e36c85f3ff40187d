// A decision over many nodes: find the placements that fit on each, drop those that would take what
// nominated pods wait for, score the rest, and choose the best node. Pure: the same snapshot and
// claim give the same answer, bit for bit. Ties go to the bytewise lower node name, on a node to
// the lower GPU position.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"
#include "snug/plan/memo.hpp"

namespace snug {

struct Verdict {
  ReasonCode reason = ReasonCode::kNone;  // kNone: the node fits
  std::int64_t score_class = 0;           // of its best placement (Profile::class_of)
};

struct PlanInput {
  const Snapshot& snapshot;
  Claim claim;               // the pod's own intent and nomination do not count against it
  PlanMemo* memo = nullptr;  // of this ledger and the claim's memo_key(); null: no cache
};

struct Plan {
  std::vector<Verdict> verdicts;      // by candidate
  std::optional<std::size_t> winner;  // position of the best candidate
  Placement placement;                // the winner's
};

/// Candidates are node names; one that is not in the snapshot gets UnknownNode.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const std::string_view> candidates);
/// The same for nodes of the snapshot, in ascending order of names.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const NodeIndex> candidates);

struct NodeChoice {
  ReasonCode reason = ReasonCode::kNone;
  std::int64_t score_class = 0;
  Placement placement;
};

/// The best placement on one node, as bind needs it.
[[nodiscard]] NodeChoice choose_on(const NodeState& node, const Claim& claim, const Around& around);

/// kube-scheduler's MaxExtenderPriority.
inline constexpr int kBestScore = 10;

/// By candidate a score from 0 to kBestScore, in proportion to its score class. Only candidates of
/// the best class get kBestScore; those that do not fit get 0.
[[nodiscard]] std::vector<int> advise(const Plan& plan);

/// What the pod holds once it has the placement on this node.
[[nodiscard]] std::shared_ptr<Holding> to_holding(const NodeState& node, const Claim& claim,
                                                  PlacementView placement);

}  // namespace snug
