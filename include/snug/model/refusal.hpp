// Why a pod cannot have a node: a closed set of constant reasons in one table. A refusal is a
// result, never an error. The sentences hold no counters, times or free amounts, since
// kube-scheduler retries a pod whenever its message changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace snug {

// Rows of (C++ name, code on the wire, can eviction resolve it, sentence). Ordered from the reason
// that says most about a node to the one that says least: where the GPUs of a node differ in their
// reason, the node's is the first of them in this table (NoRoom before TooLarge: some GPU could).
// clang-format off
#define SNUG_REASONS(ROW)                                                                                                     \
  ROW(kNone,            "",                false, "")                                                                         \
  ROW(kMalformed,       "Malformed",       false, "what the pod asks for cannot be understood")                               \
  ROW(kForbiddenPolicy, "ForbiddenPolicy", false, "the pod names a policy that is not open to its namespace")                 \
  ROW(kNotServed,       "NotServed",       false, "the pod names a scheduler that Snug is not set to serve")                  \
  ROW(kUnknownNode,     "UnknownNode",     false, "Snug does not know this node")                                             \
  ROW(kNoGpu,           "NoGpu",           false, "the node has no GPU that Snug knows of")                                   \
  ROW(kBadInventory,    "BadInventory",    false, "the node's GPU inventory is malformed or stale")                           \
  ROW(kReconfiguring,   "Reconfiguring",   false, "the MIG layout of the node's GPUs is being changed, or its last change failed") \
  ROW(kWrongPool,       "WrongPool",       false, "the node's pool does not take this kind of GPU pod")                       \
  ROW(kNodeClosed,      "NodeClosed",      false, "a pod with GPU annotations was bound to the node without a reservation, so the node takes no other")                                             \
  ROW(kUnsettled,       "Unsettled",       false, "the pod holds GPUs on another node from an earlier bind")        \
  ROW(kOtherKind,       "OtherKind",       true,  "the node holds GPU pods of the other kind (assigned by Snug or by the kubelet)") \
  ROW(kNotEnforced,     "NotEnforced",     false, "the policy wants shares of this namespace enforced, and the node is not labelled snug.dev/enforced=true") \
  ROW(kNominated,       "Nominated",       true,  "the room is kept for a pod that is nominated to the node and comes first") \
  ROW(kPromised,        "Promised",        false, "the room that is left is promised to other pods, which are about to be bound")          \
  ROW(kOtherNamespace,  "OtherNamespace",  true,  "the GPUs with room hold pods of namespaces that the policy keeps apart")   \
  ROW(kNoRoom,          "NoRoom",          true,  "no GPU has room for the request")                                          \
  ROW(kCapReached,      "CapReached",      false, "the namespace's cap is reached")                                           \
  ROW(kUnhealthy,       "Unhealthy",       true,  "the GPUs that could serve the request are unhealthy or closed")            \
  ROW(kWrongMode,       "WrongMode",       true,  "no GPU is in a mode that can serve the request")                           \
  ROW(kModelExcluded,   "ModelExcluded",   false, "the pod excludes the GPU models of this node")                             \
  ROW(kNoProfile,       "NoProfile",       false, "no GPU of the node has a slice of this MIG profile, or could be given one")             \
  ROW(kTooLarge,        "TooLarge",        false, "the request is larger than the node's GPUs even when they are empty")
// clang-format on

enum class ReasonCode : std::uint8_t {
#define SNUG_REASON_ENUM(name, code, evictable, sentence) name,
  SNUG_REASONS(SNUG_REASON_ENUM)
#undef SNUG_REASON_ENUM
};

struct ReasonRow {
  std::string_view code;
  bool evictable;
  std::string_view sentence;
};

[[nodiscard]] const ReasonRow& reason(ReasonCode code);
[[nodiscard]] std::span<const ReasonRow> all_reasons();

/// A reason that holds for the pod wherever it goes, with a sentence about this very pod.
struct Refusal {
  ReasonCode code = ReasonCode::kNone;
  std::string sentence;  // constant for the pod; empty: the table's

  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// `<Code>: <sentence>`, as replies and events show it.
[[nodiscard]] std::string message(const Refusal& refusal);
[[nodiscard]] std::string message(ReasonCode code);

}  // namespace snug
