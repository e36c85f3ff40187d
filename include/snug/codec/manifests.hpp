// Manifest files of the embedded mode, as `kubectl get nodes,pods -A -o json|yaml` prints them: a
// List of Nodes and Pods, or one object. YAML up to max_config_bytes, JSON beyond. Objects of other
// kinds are an error that names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node.hpp"
#include "snug/model/pod.hpp"

namespace snug {

struct Manifests {
  std::vector<NodeFacts> nodes;
  std::vector<PodFacts> pods;
};

/// `source` names the text in messages.
[[nodiscard]] Result<Manifests> read_manifests(std::string_view text, std::string_view source,
                                               const Limits& limits);

/// Adds the objects of one more file. kInvalid: a node, pod or uid is there already, or a uid comes
/// twice; `source` names the file in messages.
[[nodiscard]] Result<void> append(Manifests& all, Manifests more, std::string_view source);

}  // namespace snug
