// Nodes and pods of the simulated cluster, and their JSON as kube-scheduler sends it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/node.hpp"
#include "snug/model/pod.hpp"

namespace snug {

inline constexpr const char* kSimNamespace = "sim";
inline constexpr const char* kGpuUnits = "nvidia.com/gpu";

struct SimGpu {
  int index = 0;
  std::string uuid;  // empty: the node shows labels only
  std::int64_t memory = 0;
  bool healthy = true;
  std::vector<std::string> modes{"whole", "time-slicing"};
};

struct SimNode {
  std::string name;
  bool labels_only = false;  // GPU Feature Discovery, no annotation
  std::string pool = "auto";
  std::vector<SimGpu> gpus;
};

struct SimPod {
  PodFacts facts;        // as the API server shows it now
  bool by_snug = false;  // bound by a binding of Snug's
  /// The annotations that the running Snug must go by: as they were when it was first shown the pod
  /// bound, or bound it.
  StringMap counted;

  [[nodiscard]] bool bound() const { return !facts.node_name.empty(); }
  /// Bound and not finished: it holds what it was given, terminating or not.
  [[nodiscard]] bool holds() const { return bound() && !facts.finished; }
};

/// All GPUs that a node of this name ever has are of one size.
[[nodiscard]] std::int64_t sim_gpu_memory(std::string_view node);

[[nodiscard]] NodeFacts to_facts(const SimNode& node);

/// Bodies of the extender calls.
[[nodiscard]] std::string schedule_body(const PodFacts& pod, const std::vector<std::string>& nodes);
[[nodiscard]] std::string bind_body(const PodFacts& pod, std::string_view node);

}  // namespace snug
