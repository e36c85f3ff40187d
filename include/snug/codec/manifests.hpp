// Reads the manifest files of the embedded mode. A manifest is one Node, one Pod, or a list of
// them, as `kubectl get nodes,pods -A -o json|yaml` prints it. YAML is limited to max_config_bytes;
// larger files must be JSON. An object of another kind is an error.
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

/// `source` is the name of the text in messages.
[[nodiscard]] base::Result<Manifests> read_manifests(std::string_view text, std::string_view source,
                                                     const base::Limits& limits);

/// Adds the objects of `file_manifests`, which were read from the file `source`, to `manifests`.
/// Fails with kInvalid if two nodes have the same name, or if two pods have the same namespace and
/// name or the same uid.
[[nodiscard]] base::Result<void> append(Manifests& manifests, Manifests file_manifests,
                                        std::string_view source);

}  // namespace snug::codec
