// What Snug reads of a Kubernetes pod (codec/kube_objects), whether it came in a filter call, a
// list, a watch event or a manifest. Plain facts without interpretation: request/pod_request_parser
// derives the request from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "snug/model/host_resources.hpp"

namespace snug::model {

enum class ContainerType : std::uint8_t {
  kApp,
  kInit,
  kSidecar
};  // sidecar: init with restartPolicy Always

struct ContainerFacts {
  std::string name;
  ContainerType type = ContainerType::kApp;
  /// nvidia.com/* resources as written: the limit, or the request of a resource without a limit.
  std::map<std::string, std::string, std::less<>> gpu_resources;
  HostResources host;  // its requests of cpu and memory

  friend bool operator==(const ContainerFacts&, const ContainerFacts&) = default;
};

struct PodFacts {
  std::string name_space;
  std::string name;
  std::string uid;
  std::string node_name;            // spec.nodeName; empty: unbound
  std::string scheduler_name;       // spec.schedulerName
  std::string nominated_node_name;  // status.nominatedNodeName
  std::string creation_timestamp;   // RFC 3339, compared bytewise
  std::string resource_version;
  std::int32_t priority = 0;
  bool terminating = false;  // metadata.deletionTimestamp is set; the pod keeps its GPUs
  bool finished = false;     // phase Succeeded or Failed; the pod holds nothing
  bool gated = false;        // spec.schedulingGates is not empty: the pod must not be bound yet
  bool has_soft_preferences =
      false;  // preferred node or pod (anti-)affinity, or ScheduleAnyway spreading
  /// Whether the pod depends on other state of its node than CPU, memory and GPUs: host ports,
  /// volume or device claims, required pod (anti-)affinity, DoNotSchedule spreading, or requests of
  /// other resources.
  bool has_other_constraints = false;
  HostResources overhead;  // spec.overhead
  // spec.resources.requests, which replace the sum over the containers.
  std::optional<std::int64_t> pod_level_cpu_milli;
  std::optional<std::int64_t> pod_level_memory_bytes;
  std::vector<ContainerFacts> containers;  // init containers first, in the order of the spec
  /// Only the keys that Snug reads: gpu-*, snug.dev/*, kubectl.kubernetes.io/default-container.
  std::map<std::string, std::string, std::less<>> annotations;
  std::map<std::string, std::string, std::less<>> labels;
  std::size_t annotation_bytes = 0;  // of all keys and values, including those not kept here

  friend bool operator==(const PodFacts&, const PodFacts&) = default;
};

}  // namespace snug::model
