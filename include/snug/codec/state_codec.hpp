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

namespace snug {

/// All nodes in bytewise order of their names, or only the named one; nothing: no such node.
[[nodiscard]] std::optional<std::string> write_nodes(const Snapshot& snapshot,
                                                     std::optional<std::string_view> only);

struct PodRow {
  std::string name_space;
  std::string pod;
  std::string uid;
  std::string node;        // empty: none
  std::string_view state;  // pending | reserved | bound | terminating
  std::string reason;      // empty: none
  std::string request;     // the pod's own words
  HoldingPtr holding;      // null: no reservation
};
[[nodiscard]] std::string write_pods(Generation generation, std::span<const PodRow> rows);

}  // namespace snug
