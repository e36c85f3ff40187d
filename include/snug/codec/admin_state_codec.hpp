// Replies of the admin port: GET /v1/nodes and GET /v1/pods, as JSON for people and tools.
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

/// All nodes in bytewise order of their names, or only the named one; nothing: no such node.
[[nodiscard]] std::optional<std::string> write_nodes(const model::Snapshot& snapshot,
                                                     std::optional<std::string_view> only);

struct PodRow {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;           // empty: none
  std::string_view state;     // pending | reserved | bound | terminating
  std::string reason;         // empty: none
  std::string request_text;   // the pod's own words
  model::HoldingPtr holding;  // null: no reservation
};
[[nodiscard]] std::string write_pods(base::Generation generation, std::span<const PodRow> rows);

}  // namespace snug::codec
