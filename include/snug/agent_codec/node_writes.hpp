// Reads and writes what the agent keeps on its own Node, its heartbeat Lease, and the annotation of
// waiting pods, as JSON. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug::agent_codec {

inline constexpr const char* kInventoryAnnotation = "snug.dev/inventory";
inline constexpr const char* kUsageAnnotation = "snug.dev/usage";
inline constexpr const char* kEnforcedLabel = "snug.dev/enforced";
/// On a pod: how often the agent made the kubelet retry it.
inline constexpr const char* kRetryAnnotation = "snug.dev/retry";
/// The label of the heartbeat Leases of agents, whose value is `true`.
inline constexpr const char* kAgentLabel = "snug.dev/agent";

/// What the agent writes on its Node.
struct NodeMarks {
  std::optional<std::string> inventory;             // the annotation; nullopt: absent
  std::optional<std::string> enforced;              // the label; nullopt: absent
  std::optional<std::string> usage = std::nullopt;  // the annotation; nullopt: absent

  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

/// Reads a Node, or the metadata of one. Fails with kInvalid if one of the marks has a wrong
/// type.
[[nodiscard]] base::Result<NodeMarks> read_node_marks(std::string_view json,
                                                      const base::Limits& limits);
/// Reads one label of a Node, or of its metadata; nullopt: it is absent. Fails with kInvalid if it
/// has a wrong type.
[[nodiscard]] base::Result<std::optional<std::string>> read_node_label(std::string_view json,
                                                                       std::string_view key,
                                                                       const base::Limits& limits);
/// Reads the uid of a Node, or of its metadata; empty: it is absent. Fails with kInvalid if it has
/// a wrong type.
[[nodiscard]] base::Result<std::string> read_node_uid(std::string_view json,
                                                      const base::Limits& limits);
/// Returns a JSON merge patch of a Node that sets all marks; nullopt removes the key.
[[nodiscard]] std::string write_node_marks(const NodeMarks& marks);

/// Returns a JSON merge patch of the pod with this uid that sets snug.dev/retry. The API server
/// refuses it for another pod, since a uid cannot change.
[[nodiscard]] std::string write_retry_patch(std::string_view uid, std::string_view value);

/// The Node on which the agent runs.
struct HeartbeatOwner {
  std::string_view name;
  std::string_view uid;  // empty: unknown
};

/// Returns the request body that creates the heartbeat Lease of the agent on `node` or, if
/// `replaced_lease` is not null, renews it. A Lease of another holder is taken over. The Node is
/// the only owner of the Lease, so that Kubernetes deletes the Lease after the Node; without a uid
/// the owners stay as they are. `now` is the text of a Kubernetes MicroTime.
[[nodiscard]] std::string write_heartbeat(const leader::LeaseName& name, const HeartbeatOwner& node,
                                          const leader::Lease* replaced_lease,
                                          std::string_view now);

}  // namespace snug::agent_codec
