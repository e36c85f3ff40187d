// Nodes and pods of the simulated cluster, and the bodies of kube-scheduler's calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oracle/mig_cards.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug {

inline constexpr const char* kGpuUnits = "nvidia.com/gpu";

[[nodiscard]] inline bool same_place(const model::Slice& a, const model::Slice& b) {
  return a.profile == b.profile && a.start == b.start && a.size == b.size;
}

/// A slice that the node's agent could not create.
struct SimFailure {
  std::string gpu;  // its uuid
  model::Slice slice;
  std::string pod;  // uid
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
  std::vector<model::GpuInfo> gpus;  // without uuids, where the node shows labels only

  [[nodiscard]] std::int64_t healthy() const;
  /// Returns the number of nvidia.com/gpu units that the kubelet can assign.
  [[nodiscard]] std::int64_t units() const;
  [[nodiscard]] bool has_slices() const;
  /// Where the GPU's failures are.
  [[nodiscard]] model::AxisMask failed_on(const model::GpuInfo& gpu) const;
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
/// What Snug should read in these facts.
[[nodiscard]] model::NodeInventory inventory_of(const SimNode& node);

// Return the bodies of the extender calls.
[[nodiscard]] std::string schedule_body(const model::PodFacts& pod,
                                        const std::vector<std::string>& nodes);
[[nodiscard]] std::string bind_body(const model::PodFacts& pod, std::string_view node);

}  // namespace snug
