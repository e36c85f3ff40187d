// The results of a replay. Percentages are 0 to 100. A result that cannot be computed for a replay
// is nullopt. sim_codec/report_codec writes a report as JSON, table or chart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace snug::sim {

/// The number of rejected pods by request: no GPU, a share, one GPU, several GPUs.
struct RejectedPods {
  std::int64_t cpu = 0;
  std::int64_t share = 0;
  std::int64_t one = 0;
  std::int64_t multi = 0;
};

/// The means of a percentage at two levels of the arrived load. The arrived load is the milli-GPU
/// that all pods so far have asked for, in % of the cluster's milli-GPU, rounded to a whole number.
/// `at100` is the mean over all arrivals at which it is 100, `at130` over those at which it is 130.
/// Nullopt: there was no such arrival, or pods leave.
struct AtDemand {
  std::optional<double> at100;
  std::optional<double> at130;
};

/// Results for a trace whose pods leave, over the later half of the arrivals
/// (Trace::is_in_later_half).
struct ChurnReport {
  double allocation_mean = 0;              // mean of the milli-GPU in use, in % of the cluster's
  std::optional<double> gpu_accepted_pct;  // accepted pods' milli-GPU, in % of that of all pods
  double rejected_pct = 0;                 // rejected pods, in % of all pods
  /// Rejected pods, in % of the pods that ask for several GPUs.
  std::optional<double> multi_rejected_pct;
};

/// Results for a trace whose pods ask for MIG profiles. If pods leave, all values are over the
/// later half of the arrivals. Otherwise memory_slices_pct is the value at the end of the replay,
/// and the other values are over all arrivals.
struct MigReport {
  /// Memory slices in use, in % of those of all GPUs in MIG mode.
  double memory_slices_pct = 0;
  /// Rejected pods, in % of the pods that ask for profiles.
  double rejected_pct = 0;
  /// Rejected pods, in % of the pods whose profile has at least four memory slices.
  std::optional<double> rejected_4_slices_or_more_pct;
};

/// What the axes of a curve show.
enum class CurveAxes : std::uint8_t {
  /// x: the milli-GPU that all pods so far have asked for, y: those in use, both in % of the
  /// cluster's. There is one point for each `x` rounded to a whole number, at the last arrival with
  /// this `x`.
  kUseByDemand,
  kUseByArrivals,  // x: pods that have arrived; y: milli-GPU in use, in % of the cluster's
  kUseByTime,      // x: seconds; y: as above
  kFreeByPods,     // x: pods that have arrived; y: free GPUs
};

struct CurvePoint {
  double x = 0;
  double y = 0;
  friend bool operator==(const CurvePoint&, const CurvePoint&) = default;
};

/// How many GPUs of a cluster are used. The counts `in_use`, `free`, `free_mig` and `closed` add up
/// to `gpus`.
struct GpuCounts {
  std::int64_t gpus = 0;
  std::int64_t in_use = 0;               // at least one pod holds something of the GPU
  std::int64_t free = 0;                 // no pod holds anything of it, and it is not in MIG mode
  std::int64_t free_mig = 0;             // no pod holds a slice of it
  std::int64_t closed = 0;               // it takes no pods, for example because it is unhealthy
  std::int64_t most_free_on_a_node = 0;  // the most free GPUs that one node has
  /// What is reserved of all GPUs, in milli-GPU: of each GPU its compute or its memory, whichever
  /// is more; in MIG mode its memory slices. A GPU that is closed while pods hold it counts in
  /// full.
  std::int64_t reserved_milli = 0;
  friend bool operator==(const GpuCounts&, const GpuCounts&) = default;
};

/// What the simulation of a cluster decided about one pod.
struct PodOutcome {
  std::string name_space;
  std::string pod;
  std::string request;       // as text; empty: it is malformed
  std::string node_now;      // empty: the pod is not bound
  std::string node;          // empty: the pod was refused
  std::vector<int> gpus;     // the indices of its GPUs; empty also if the kubelet picks them
  std::string refusal_code;  // empty: the pod was placed
  std::string refusal;       // a sentence
};

/// The results for a real cluster, whose pods are simulated as if they arrived one after the other.
struct ClusterResult {
  GpuCounts now;
  GpuCounts simulated;
  std::vector<PodOutcome> pods;  // in the order of arrival
};

struct SimulationReport {
  std::string policy;
  std::optional<std::uint64_t> seed;
  std::int64_t nodes = 0;
  std::int64_t gpus = 0;
  std::int64_t arrivals = 0;
  std::int64_t accepted = 0;
  RejectedPods rejected;
  AtDemand allocation;
  std::optional<double> final_allocation;
  AtDemand fragmentation;
  std::optional<ChurnReport> churn;
  std::optional<MigReport> mig;
  double decision_us_p50 = 0;
  double decision_us_p99 = 0;
  double wall_s = 0;
  std::optional<ClusterResult> cluster;  // nullopt: a trace was simulated
  // The rest is shown in the chart, not in the JSON.
  CurveAxes axes = CurveAxes::kUseByDemand;
  std::vector<CurvePoint> curve;
  /// With what the curve is compared: the milli-GPU in use if every pod fitted somewhere, or the
  /// GPUs that are free now.
  std::vector<CurvePoint> reference;
};

}  // namespace snug::sim
