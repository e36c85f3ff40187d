// Reads and writes what the agent keeps on its own Node, and its heartbeat Lease, as JSON. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/leader/lease.hpp"

namespace snug::agent_codec {

inline constexpr const char* kInventoryAnnotation = "snug.dev/inventory";
inline constexpr const char* kEnforcedLabel = "snug.dev/enforced";
/// The label of the heartbeat Leases of agents, whose value is `true`.
inline constexpr const char* kAgentLabel = "snug.dev/agent";

/// What the agent writes on its Node.
struct NodeMarks {
  std::optional<std::string> inventory;  // the annotation; nullopt: absent
  std::optional<std::string> enforced;   // the label; nullopt: absent

  friend bool operator==(const NodeMarks&, const NodeMarks&) = default;
};

/// Reads a Node, or the metadata of one. Fails with kInvalid if one of the two has a wrong type.
[[nodiscard]] base::Result<NodeMarks> read_node_marks(std::string_view json,
                                                      const base::Limits& limits);
/// Returns a JSON merge patch of a Node that sets both; nullopt removes the key.
[[nodiscard]] std::string write_node_marks(const NodeMarks& marks);

/// Returns the request body that creates the heartbeat Lease of the agent on `node` or, if
/// `replaced_lease` is not null, renews it. A Lease of another holder is taken over. `now` is the
/// text of a Kubernetes MicroTime.
[[nodiscard]] std::string write_heartbeat(const leader::LeaseName& name, std::string_view node,
                                          const leader::Lease* replaced_lease,
                                          std::string_view now);

}  // namespace snug::agent_codec
