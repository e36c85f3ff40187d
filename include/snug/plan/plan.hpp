// A decision over many nodes: fit each, keep what nominated pods wait for, score what remains, name
// the best. Pure: the same snapshot and claim give the same answer, bit for bit. Ties go to the
// bytewise lower node name, inside a node to the lower GPU position.
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
  PlanMemo* memo = nullptr;  // of this ledger, and of claims with this memo_key()
};

struct Plan {
  std::vector<Verdict> verdicts;      // one for each candidate, in their order
  std::optional<std::size_t> winner;  // position of the best candidate
  Placement placement;                // the winner's
};

/// Candidates are node names; one that the snapshot does not know is UnknownNode.
[[nodiscard]] Plan plan(const PlanInput& input, std::span<const std::string_view> candidates);
/// The same for nodes that the snapshot has, ascending by name.
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

/// Classes of the candidates that fit as scores from 0 to kBestScore: only the best reaches it, the
/// others are in proportion below. Others (not fitting) get 0.
[[nodiscard]] std::vector<int> advise(const Plan& plan);

/// What the pod would hold by a placement on this node.
[[nodiscard]] std::shared_ptr<Holding> to_holding(const NodeState& node, const Claim& claim,
                                                  PlacementView placement);

}  // namespace snug
