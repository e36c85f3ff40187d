// Reads Kubernetes pods, and the events of a watch of pods, from JSON into agent::PodView. Unknown
// fields are ignored, and null counts as absent. A known field of a wrong type and a missing name,
// namespace or uid are errors (kInvalid) that name the field. The bounds are maxObjectBytes and
// max_json_depth. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/agent/pod_view.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug::agent_codec {

/// Reads a Pod. Does not check `kind`, because the items of a list have none.
[[nodiscard]] base::Result<agent::PodView> read_node_pod(std::string_view json,
                                                         const base::Limits& limits);

struct NodePodEvent {
  codec::WatchEventType type = codec::WatchEventType::kBookmark;
  agent::PodView pod;            // empty in a bookmark and in an error
  std::string resource_version;  // the resourceVersion of the pod or bookmark
  int error_code = 0;            // `code` of the Status in an ERROR event; 410: expired
  std::string error_message;     // `message` of that Status
};
[[nodiscard]] base::Result<NodePodEvent> read_node_pod_event(std::string_view json,
                                                             const base::Limits& limits);

}  // namespace snug::agent_codec
