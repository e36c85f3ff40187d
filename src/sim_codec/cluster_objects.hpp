// Reads from Kubernetes objects what a simulation of a cluster needs and the service does not: the
// labels and taints of nodes, which nodes a pod may use, and how other systems that share GPUs
// state requests, GPUs and assignments. The text is read by codec/manifests too, which refuses what
// is no manifest; here fields of an unexpected type are ignored.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/sim/node_selection.hpp"

namespace snug::sim_codec {

struct NodeObject {
  sim::NodeTraits traits;
  model::StringMap annotations;  // only those of other systems (sim_codec/other_systems)
  model::StringMap capacity;     // all resources; unparsed quantities
};

struct PodObject {
  sim::NodeSelection selection;
  model::StringMap annotations;  // only those of other systems
  /// The limits of each container by name, or its requests of resources without a limit; without
  /// CPU, memory, storage and snug.dev/*. Init containers first, as in PodFacts.
  std::vector<std::pair<std::string, model::StringMap>> resources;
  bool claims_devices = false;  // spec.resourceClaims is not empty
  /// Whether the pod has host ports, volume claims, required pod (anti-)affinity or DoNotSchedule
  /// spreading.
  bool has_other_rules = false;
};

struct ClusterObjects {
  std::map<std::string, NodeObject, std::less<>> nodes;           // by name
  std::map<std::pair<std::string, std::string>, PodObject> pods;  // by namespace and name
};

/// Adds the objects of the text, JSON or YAML, to `objects`.
[[nodiscard]] base::Result<void> read_cluster_objects(std::string_view text,
                                                      std::string_view source,
                                                      const base::Limits& limits,
                                                      ClusterObjects& objects);

}  // namespace snug::sim_codec
