// Writes the JSON replies of GET /v1/nodes and GET /v1/pods on the admin port.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "snug/base/ids.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reservation.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::codec {

/// Writes the reply of GET /v1/nodes. It contains the node named `only_node` or, if `only_node` is
/// nullopt, all nodes in bytewise order of their names. Returns nullopt if there is no node named
/// `only_node`.
[[nodiscard]] std::optional<std::string> write_nodes(const model::Snapshot& snapshot,
                                                     std::optional<std::string_view> only_node);

/// Writes the reply of GET /v1/nodes?since=…, for clients that read the nodes again and again. The
/// reply has a `version`, and the client sends that as `since` next time. The reply then contains
/// only the nodes that have changed since (`complete` is false), and `total`, the number of all
/// nodes: a client that counts another number has missed that nodes were deleted, and must read
/// all. `instance` is different in each process, so that versions of another process are not
/// mistaken for ours: a `since` without it gets all nodes.
[[nodiscard]] std::string write_changed_nodes(const model::Snapshot& snapshot,
                                              std::string_view instance, std::string_view since);

struct PodRow {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;           // empty: the pod is pending
  std::string_view state;     // pending | reserved | bound | terminating
  std::string reason;         // why the pod is pending, or what is odd about its GPUs; may be empty
  std::string request_text;   // the pod's GPU request as text; empty: it is malformed
  model::HoldingPtr holding;  // the pod's holding; null: the pod is pending
};
/// Writes the reply of GET /v1/pods. It lists the pods in the order of `rows`.
[[nodiscard]] std::string write_pods(base::Generation generation, std::span<const PodRow> rows);

}  // namespace snug::codec
