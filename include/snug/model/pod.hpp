// PodFacts: the fields of a Kubernetes pod that Snug reads (codec/kube_objects) from a filter call,
// a list, a watch event or a manifest. They are not interpreted; request/pod_request_parser derives
// the request from them. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snug/model/host_resources.hpp"
#include "snug/model/mirrored_amounts.hpp"

namespace snug::model {

/// A sidecar is an init container with restartPolicy Always.
enum class ContainerType : std::uint8_t { kApp, kInit, kSidecar };

struct ContainerFacts {
  std::string name;
  ContainerType type = ContainerType::kApp;
  /// Unparsed quantities of nvidia.com/* resources: the limit, or the request if there is no limit.
  std::map<std::string, std::string, std::less<>> gpu_resources;
  HostResources host;  // the container's requests of CPU and memory
  /// The container's limits of the resources that mirror shares, each at most kLargestQuantity. 0:
  /// it has none.
  MirroredAmounts mirrored;

  friend bool operator==(const ContainerFacts&, const ContainerFacts&) = default;
};

struct PodFacts {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string node_name;            // spec.nodeName; empty if unbound
  std::string scheduler_name;       // spec.schedulerName
  std::string nominated_node_name;  // status.nominatedNodeName
  std::string creation_timestamp;   // RFC 3339, compared bytewise
  std::string resource_version;
  std::int32_t priority = 0;
  bool terminating = false;  // metadata.deletionTimestamp is set; the pod keeps its GPUs
  bool finished = false;     // phase Succeeded or Failed; the pod holds nothing
  bool gated = false;        // spec.schedulingGates is not empty: the pod must not be bound yet
  /// Whether the pod has preferred node or pod (anti-)affinity, or ScheduleAnyway spreading.
  bool has_soft_preferences = false;
  /// Whether the pod depends on state of its node besides CPU, memory and GPUs: host ports, volume
  /// or device claims, required pod (anti-)affinity, DoNotSchedule spreading, or other resources.
  /// The resources that mirror shares are not other resources in a container (`mirrored`), but they
  /// are in the overhead and at the level of the pod.
  bool has_other_constraints = false;
  HostResources overhead;  // spec.overhead
  // The values of spec.resources.requests, which replace the requests computed from the containers.
  std::optional<std::int64_t> pod_level_cpu_milli;
  std::optional<std::int64_t> pod_level_memory_bytes;
  std::vector<ContainerFacts> containers;  // init containers first, in the order of the spec
  /// Only the keys that Snug reads: gpu-*, snug.dev/*, kubectl.kubernetes.io/default-container.
  std::map<std::string, std::string, std::less<>> annotations;
  std::map<std::string, std::string, std::less<>> labels;
  /// Annotations and container resources by which other systems, or misspelled keys, ask for GPUs
  /// (request/near_misses.hpp), with the beginnings of their values; at most base::kMaxStrayKeys.
  std::map<std::string, std::string, std::less<>> stray_keys;
  std::size_t annotation_bytes = 0;  // size of all annotations, even those not in `annotations`

  friend bool operator==(const PodFacts&, const PodFacts&) = default;
};

}  // namespace snug::model
