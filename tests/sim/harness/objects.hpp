// Nodes and pods of the simulated cluster, and the bodies of kube-scheduler's calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/harness/slices.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug {

inline constexpr const char* kGpuUnits = "nvidia.com/gpu";

struct SimGpu {
  int index = 0;
  std::string uuid;  // empty if SimNode::labels_only
  std::string model;
  std::int64_t memory = 0;
  bool healthy = true;
  std::vector<std::string> modes{"whole", "time-slicing"};
  bool mig = false;                   // in MIG mode: pods can have only slices
  std::vector<PlainSlice> instances;  // the existing slices, as published by the node
};

/// A slice that the node's agent could not create.
struct SimFailure {
  std::string gpu;  // uuid of the GPU
  PlainSlice slice;
  std::string pod;  // uid of the pod
  friend bool operator==(const SimFailure&, const SimFailure&) = default;
};

struct SimNode {
  std::string name;
  /// The node has the labels of GPU Feature Discovery but no inventory. All its GPUs are equal.
  bool labels_only = false;
  std::string pool = "auto";
  bool enforced = false;
  bool stale = false;         // its inventory was written before the last boot
  std::int64_t replicas = 1;  // if labels_only: how often the device plug-in offers each GPU
  bool dynamic = false;       // an agent creates the reserved slices
  std::vector<SimFailure> failures;
  std::vector<SimGpu> gpus;

  [[nodiscard]] std::int64_t healthy() const;
  /// Returns the number of nvidia.com/gpu units that the kubelet can assign.
  [[nodiscard]] std::int64_t units() const;
  [[nodiscard]] bool has_slices() const;
  /// Returns the memory slices of the GPU on which slices could not be created, as a bit mask.
  [[nodiscard]] std::uint64_t failed_on(const SimGpu& gpu) const;
  /// Whether the kubelet may assign one GPU to several pods.
  [[nodiscard]] bool replicated() const { return replicas > 1; }
};

struct SimPod {
  model::PodFacts facts;  // as the API server shows it now
  bool by_snug = false;   // bound by Snug
  bool apart = false;     // excluded from the checks, although Snug may have bound it
  /// The annotations that the running Snug process must use: those at the time when it bound the
  /// pod or first saw the pod bound.
  model::StringMap counted;

  [[nodiscard]] bool bound() const { return !facts.node_name.empty(); }
  /// Whether the pod holds its devices: it is bound and has not finished. It may be terminating.
  [[nodiscard]] bool holds() const { return bound() && !facts.finished; }
  /// Whether the pod waits to be bound.
  [[nodiscard]] bool waits() const { return !bound() && !facts.finished && !facts.terminating; }
};

[[nodiscard]] model::NodeFacts to_facts(const SimNode& node);

// Return the bodies of the extender calls.
[[nodiscard]] std::string schedule_body(const model::PodFacts& pod,
                                        const std::vector<std::string>& nodes);
[[nodiscard]] std::string bind_body(const model::PodFacts& pod, std::string_view node);

}  // namespace snug
