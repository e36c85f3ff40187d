// The table of all reasons why a node is not feasible for a pod. A refusal is a result, not an
// error. The sentences are constant: they contain no counters, times or free amounts, because
// kube-scheduler retries a pod whenever its message changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace snug::model {

/// ReasonRow::distance of reasons that do not depend on the state of a node.
inline constexpr std::uint16_t kNoDistance = 1000;

// Rows of (C++ name, code in replies, whether evictions can make the node feasible, distance,
// sentence). If the GPUs of a node have different reasons, the reason of the node is the one
// that is first in this table. For example, if one GPU is full and another is too small, the
// reason is NoRoom, not TooLarge. Nodes that are not feasible are ordered by distance. It is
// small if the node becomes feasible when other pods end, larger if the operator must change
// something, and largest if the hardware must change.
// clang-format off
#define SNUG_REASONS(ROW)                                                                                                                                                 \
  ROW(kNone,            "",                false, kNoDistance, "")                                                                                                        \
  ROW(kMalformed,       "Malformed",       false, kNoDistance, "what the pod asks for cannot be understood")                                                              \
  ROW(kForbiddenPolicy, "ForbiddenPolicy", false, kNoDistance, "the pod names a policy that is not open to its namespace")                                                \
  ROW(kNotServed,       "NotServed",       false, kNoDistance, "the pod names a scheduler that Snug is not set to serve")                                                 \
  ROW(kUnknownNode,     "UnknownNode",     false, kNoDistance, "Snug does not know this node")                                                                            \
  ROW(kNoGpu,           "NoGpu",           false, kNoDistance, "the node has no GPU that Snug knows of")                                                                  \
  ROW(kBadInventory,    "BadInventory",    false, 130,         "the node's GPU inventory is malformed or stale")                                                          \
  ROW(kReconfiguring,   "Reconfiguring",   false, 80,          "the MIG layout of the node's GPUs is being changed, or its last change failed")                           \
  ROW(kWrongPool,       "WrongPool",       false, 110,         "the node's pool does not take this kind of GPU pod")                                                      \
  ROW(kNodeClosed,      "NodeClosed",      false, 90,          "a pod with GPU annotations was bound to the node without a reservation, so the node takes no other")      \
  ROW(kAgentAway,       "AgentAway",       false, 85,          "the node starts GPU containers only while its agent runs, and the agent gives no sign of life")           \
  ROW(kUnsettled,       "Unsettled",       false, kNoDistance, "the pod holds GPUs on another node from an earlier bind")                                                 \
  ROW(kOtherKind,       "OtherKind",       true,  50,          "the node holds GPU pods of the other kind (assigned by Snug or by the kubelet)")                          \
  ROW(kNotEnforced,     "NotEnforced",     false, 100,         "the policy wants shares of this namespace enforced, and the node does not count as enforced") \
  ROW(kNominated,       "Nominated",       true,  20,          "the room is kept for a pod that is nominated to the node and comes first")                                \
  ROW(kPromised,        "Promised",        false, 10,          "the room that is left is promised to other pods, which are about to be bound")                            \
  ROW(kOtherNamespace,  "OtherNamespace",  true,  30,          "the GPUs with room hold pods of namespaces that the policy keeps apart")                                  \
  ROW(kNoRoom,          "NoRoom",          true,  40,          "no GPU has room for the request")                                                                         \
  ROW(kCapReached,      "CapReached",      false, 60,          "the namespace's cap is reached")                                                                          \
  ROW(kUnhealthy,       "Unhealthy",       true,  70,          "the GPUs that could serve the request are unhealthy or closed")                                           \
  ROW(kWrongMode,       "WrongMode",       true,  120,         "no GPU is in a mode that can serve the request")                                                          \
  ROW(kModelExcluded,   "ModelExcluded",   false, 140,         "the pod excludes the GPU models of this node")                                                            \
  ROW(kNoProfile,       "NoProfile",       false, 150,         "no GPU of the node has a slice of this MIG profile, or could be given one")                               \
  ROW(kTooLarge,        "TooLarge",        false, 160,         "the request is larger than the node's GPUs even when they are empty")
// clang-format on

enum class ReasonCode : std::uint8_t {
#define SNUG_REASON_ENUM(name, code, evictable, distance, sentence) name,
  SNUG_REASONS(SNUG_REASON_ENUM)
#undef SNUG_REASON_ENUM
};

struct ReasonRow {
  std::string_view code;
  bool resolvable;
  std::uint16_t distance;  // how much must change before the node is feasible
  std::string_view sentence;
};

[[nodiscard]] const ReasonRow& reason_row(ReasonCode code);
[[nodiscard]] std::span<const ReasonRow> all_reasons();

/// A reason that applies to a pod on all nodes, with a sentence about this pod.
struct Refusal {
  ReasonCode code = ReasonCode::kNone;
  std::string sentence;  // constant for the pod; if empty, the sentence of the table applies

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// The text `<Code>: <sentence>`, which replies and events contain.
[[nodiscard]] std::string message(const Refusal& refusal);
[[nodiscard]] std::string message(ReasonCode code);

}  // namespace snug::model
