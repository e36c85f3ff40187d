// Systems besides Snug that share GPUs: how their pods and nodes state requests, GPUs and
// assignments. A request is translated to Snug's annotations with the same amounts, a node's GPUs
// to an inventory, and an assignment to devices.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim_codec/cluster_objects.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reservation.hpp"

namespace snug::sim_codec {

[[nodiscard]] bool is_annotation_of_other_system(std::string_view key);

/// The systems that the nodes of a cluster show.
struct SystemsInUse {
  bool hami = false;
  std::int64_t gpushare_unit_mib = 1024;  // MiB of a unit of aliyun.com/gpu-mem
};
[[nodiscard]] SystemsInUse systems_in_use(const ClusterObjects& objects);

/// Gives the node the annotation snug.dev/inventory if another system states its GPUs and nothing
/// that Snug reads does.
void translate_node(const NodeObject& object, const SystemsInUse& systems, model::NodeFacts& node);

/// What a system assigned to a pod's containers, as the pod's annotations say.
struct OtherAssignment {
  std::vector<model::ReservedContainer> containers;  // empty: nothing, or nothing that can be read
  bool is_partly_unreadable = false;
};

struct PodTranslation {
  /// The system whose form the request has, and the resources or annotations that it uses, for
  /// messages; empty: the pod's request is not translated.
  std::string system;
  /// The GPU resources that are not understood; they are not translated.
  std::vector<std::string> not_understood;
  /// Whether the pod requests other resources of nodes than CPU, memory and GPUs.
  bool needs_other_resources = false;
  OtherAssignment assignment;
  /// Whether the pod only keeps a GPU for pods of another scheduler, and requests nothing itself.
  bool is_placeholder = false;
};

/// Translates the request of the pod, in `pod`.
[[nodiscard]] PodTranslation translate_pod(const PodObject& object, const SystemsInUse& systems,
                                           model::PodFacts& pod);

}  // namespace snug::sim_codec
