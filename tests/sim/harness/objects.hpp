// Nodes and pods of the simulated cluster, and their JSON as kube-scheduler sends it.
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
  bool labels_only = false;  // GPU Feature Discovery, no annotation; all GPUs are alike
  std::string pool = "auto";
  bool enforced = false;
  bool stale = false;         // its inventory is of an earlier boot
  std::int64_t replicas = 1;  // of labels_only: the device plug-in offers each GPU so often
  bool dynamic = false;       // an agent creates what is reserved
  std::vector<SimFailure> failures;
  std::vector<model::GpuInfo> gpus;  // without uuids, where the node shows labels only

  [[nodiscard]] std::int64_t healthy() const;
  /// Of those that the kubelet may give.
  [[nodiscard]] std::int64_t units() const;
  [[nodiscard]] bool has_slices() const;
  /// Where the GPU's failures are.
  [[nodiscard]] model::AxisMask failed_on(const model::GpuInfo& gpu) const;
};

struct SimPod {
  model::PodFacts facts;  // as the API server shows it now
  bool by_snug = false;   // bound by a binding of Snug's
  bool apart = false;     // not counted as a decision of Snug's, though bound by it
  /// The annotations that the running Snug must go by: as they were when it was first shown the pod
  /// bound, or bound it.
  model::StringMap counted;

  [[nodiscard]] bool bound() const { return !facts.node_name.empty(); }
  /// Bound and not finished: it holds what it was given, terminating or not.
  [[nodiscard]] bool holds() const { return bound() && !facts.finished; }
  /// Not bound, and it may be.
  [[nodiscard]] bool waits() const { return !bound() && !facts.finished && !facts.terminating; }
};

[[nodiscard]] model::NodeFacts to_facts(const SimNode& node);
/// What Snug should read in these facts.
[[nodiscard]] model::NodeInventory inventory_of(const SimNode& node);

/// Bodies of the extender calls.
[[nodiscard]] std::string schedule_body(const model::PodFacts& pod,
                                        const std::vector<std::string>& nodes);
[[nodiscard]] std::string bind_body(const model::PodFacts& pod, std::string_view node);

}  // namespace snug
