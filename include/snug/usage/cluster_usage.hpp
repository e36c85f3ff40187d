// How full the cluster is: sums over all nodes, by GPU model and by namespace, the largest free
// share, fragmentation, and why pods are pending. The metrics, GET /v1/cluster and GET /v1/history
// show the same sums. Pure.
//
// Reservations count; intents and nominations do not. CPU and memory of the nodes do not matter
// here. A call takes time in proportion to the number of GPUs and holdings.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/base/ids.hpp"
#include "snug/base/units.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::usage {

/// The free part of a GPU that a new share, a whole GPU or a slice can get.
struct FreeShare {
  base::MilliGpu compute;
  base::MebiBytes memory;
  std::string node;
  int gpu = 0;  // GpuInfo::index

  friend bool operator==(const FreeShare&, const FreeShare&) = default;
};

struct ModelUsage {
  std::string model;  // empty: GPUs that vanished from the inventories, but are still held
  std::int64_t gpus = 0;
  base::MebiBytes memory;  // capacity
  base::MebiBytes memory_held;
  base::MilliGpu compute_held;
  std::int64_t free_whole_gpus = 0;

  friend bool operator==(const ModelUsage&, const ModelUsage&) = default;
};

struct NamespaceTotals {
  std::string name_space;
  std::int64_t pods = 0;  // that hold GPUs
  base::MebiBytes memory;
  base::MilliGpu compute;             // as the cap counts it (Snapshot::namespace_usage)
  std::optional<base::MilliGpu> cap;  // nullopt: there is none

  friend bool operator==(const NamespaceTotals&, const NamespaceTotals&) = default;
};

/// How many pods are pending for one reason. kNone: Snug has not refused them yet.
struct PendingTotals {
  model::ReasonCode reason = model::ReasonCode::kNone;
  std::int64_t pods = 0;

  friend bool operator==(const PendingTotals&, const PendingTotals&) = default;
};

struct ClusterUsage {
  base::Generation generation;  // of the snapshot
  std::int64_t nodes = 0;
  std::int64_t nodes_in_conflict = 0;
  std::int64_t gpus = 0;  // also those that vanished, but are still held
  std::map<model::GpuClosure, std::int64_t> closed_gpus;  // the number of closed GPUs, by reason
  base::MebiBytes memory;                                 // the sum over all GPUs
  /// Units that the kubelet assigns are not in it, because their memory is unknown.
  base::MebiBytes memory_held;
  base::MilliGpu compute_held;  // units that the kubelet assigns count too
  /// GPUs that a pod that asks for one whole GPU could take.
  std::int64_t free_whole_gpus = 0;
  std::optional<FreeShare> largest_free_share;  // nullopt: no GPU has anything free
  /// score::fragmentation() over the learned typical pods, rounded.
  base::MilliGpu fragmented;
  base::MilliGpu free;                      // the sum of NodeState::free_milli
  std::vector<ModelUsage> models;           // by name
  std::vector<NamespaceTotals> namespaces;  // by name; those with pods that hold GPUs
  std::vector<PendingTotals> pending;       // most pods first, then by code

  [[nodiscard]] base::MilliGpu compute() const { return {gpus * base::kWholeGpu.value}; }
  [[nodiscard]] std::int64_t all_closed_gpus() const;
  [[nodiscard]] std::int64_t all_pending_pods() const;
};

struct UsageInput {
  const model::Snapshot& snapshot;
  const model::SharingRules& sharing;
  /// An element for each pending pod that asks for GPUs and may be scheduled: why Snug last refused
  /// it.
  std::span<const model::ReasonCode> pending;
};

[[nodiscard]] ClusterUsage cluster_usage(const UsageInput& input);

/// What is kept of the usage at one moment.
struct UsagePoint {
  std::chrono::sys_seconds time;
  std::int64_t gpus = 0;
  base::MilliGpu compute_held;
  base::MilliGpu compute;
  base::MebiBytes memory_held;
  base::MebiBytes memory;
  base::MilliGpu fragmented;
  std::int64_t pending_pods = 0;

  friend bool operator==(const UsagePoint&, const UsagePoint&) = default;
};
[[nodiscard]] UsagePoint usage_point(const ClusterUsage& usage, std::chrono::sys_seconds time);

}  // namespace snug::usage
