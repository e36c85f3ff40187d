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

/// Writes the reply of GET /v1/nodes, with the node named `only` or, if it is nullopt, with all
/// nodes in bytewise order of their names. Returns nullopt if there is no node named `only`.
[[nodiscard]] std::optional<std::string> write_nodes(const model::Snapshot& snapshot,
                                                     std::optional<std::string_view> only);

struct PodRow {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;           // empty: the pod is pending
  std::string_view state;     // pending | reserved | bound | terminating
  std::string reason;         // why the pod is pending or has no device; empty: no reason is known
  std::string request_text;   // the pod's GPU request as text; empty: it is malformed
  model::HoldingPtr holding;  // has the reservation; null: the pod has no reservation
};
/// Writes the reply of GET /v1/pods, with `rows` in their order.
[[nodiscard]] std::string write_pods(base::Generation generation, std::span<const PodRow> rows);

}  // namespace snug::codec
