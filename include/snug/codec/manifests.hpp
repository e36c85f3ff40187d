// Reads the manifest files of the embedded mode, as `kubectl get nodes,pods -A -o json|yaml` prints
// them: a List of Nodes and Pods, or one object. YAML is limited to max_config_bytes; larger files
// must be JSON. An object of another kind is an error that names it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

struct Manifests {
  std::vector<model::NodeFacts> nodes;
  std::vector<model::PodFacts> pods;
};

/// `source` names the text in messages.
[[nodiscard]] base::Result<Manifests> read_manifests(std::string_view text, std::string_view source,
                                                     const base::Limits& limits);

/// Adds the objects of another file, which `source` names in messages. kInvalid: a node, pod or uid
/// is a duplicate.
[[nodiscard]] base::Result<void> append(Manifests& all, Manifests more, std::string_view source);

}  // namespace snug::codec
