// A trace: a cluster and the pods that arrive at it, as sim_codec/trace_codec reads them. Plain
// data. Arrivals are in the order of time. Unless Trace::arrival_seconds says otherwise, the first
// arrival happens at time 0, the next at time 1, and so on. A pod whose lifetime has ended leaves
// before the next arrival.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/mig/card_catalog.hpp"

namespace snug::sim {

/// In a trace, a GPU that is not in MIG mode has 1000 MiB, so that one milli-GPU is one MiB.
inline constexpr std::int64_t kTraceGpuMiB = 1000;

struct TraceNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;  // the model of its GPUs; empty: it has no GPUs
  /// The card type of the node's GPUs if they are in MIG mode; Snug then creates slices as pods ask
  /// for them. Null: they are not in MIG mode.
  const mig::MigCard* mig_card = nullptr;
};

struct TracePod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;  // 0: the pod asks for no GPU
  /// Milli-GPU of each GPU: 1..1000; 1000 if gpus > 1; 0 if gpus is 0.
  int gpu_milli = 0;
  /// The exact names of the GPU models that the pod accepts; empty: any model.
  std::vector<std::string> models;
  /// The MIG profile that the pod asks for, on one GPU; empty: it asks for no profile. `gpu_milli`
  /// and `mig_slices` (memory slices) are the size of the profile on the trace's first card that
  /// has it. On other cards, the profile may have another size.
  std::string mig_profile{};
  int mig_slices = 0;

  [[nodiscard]] std::int64_t milli() const { return std::int64_t{gpus} * gpu_milli; }
  friend bool operator==(const TracePod&, const TracePod&) = default;
};

struct Arrival {
  std::size_t pod = 0;  // position in Trace::pods
  /// The lifetime in arrivals, or in seconds if the trace has arrival_seconds; nullopt: the pod
  /// never leaves.
  std::optional<double> lifetime;
};

struct Trace {
  std::vector<TraceNode> nodes;  // in the order of rank: if scores are equal, the first node wins
  std::vector<TracePod> pods;
  std::vector<Arrival> arrivals;
  /// When each arrival happens, in seconds since the first one. Empty: arrivals are the unit of
  /// time.
  std::vector<double> arrival_seconds{};

  /// Whether pods leave.
  [[nodiscard]] bool churns() const {
    return std::ranges::any_of(arrivals,
                               [](const Arrival& arrival) { return arrival.lifetime.has_value(); });
  }
  [[nodiscard]] double time_of(std::size_t arrival) const {
    return arrival_seconds.empty() ? static_cast<double>(arrival) : arrival_seconds[arrival];
  }
  /// Whether the arrival (0-based) belongs to the later half of the arrivals. Results of a trace
  /// whose pods leave are measured over that half.
  [[nodiscard]] bool is_in_later_half(std::size_t arrival) const {
    return arrival > arrivals.size() / 2;
  }
  [[nodiscard]] std::int64_t gpu_count() const {
    std::int64_t count = 0;
    for (const TraceNode& node : nodes) count += node.gpus;
    return count;
  }
};

/// Returns all pods once, in a random order, then pods drawn with replacement until all arrivals
/// together ask for `inflate` times the milli-GPU of the cluster's `gpus` GPUs. Draws no pod if
/// none asks for a GPU, and stops at kMaxTraceArrivals (base/limits.hpp). Equal arguments give
/// equal arrivals on every platform. `inflate` must be positive.
[[nodiscard]] std::vector<Arrival> draw_arrivals(const std::vector<TracePod>& pods,
                                                 std::int64_t gpus, std::uint64_t seed,
                                                 double inflate);

}  // namespace snug::sim
