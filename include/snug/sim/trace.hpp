// A cluster and the pods that arrive at it, as sim_codec/trace_codec reads them: the nodes in the
// order in which they win ties, and the arrivals in time order. Plain data. Arrival t (0-based)
// happens at time t; before it, every pod with arrival + lifetime <= t has left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/mig/card_catalog.hpp"

namespace snug::sim {

/// Each GPU has 1000 MiB, so that a milli-GPU is a MiB.
inline constexpr std::int64_t kTraceGpuMiB = 1000;

struct TraceNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;
  std::string model;  // empty: no GPU
  /// What its GPUs are when they are in MIG mode, where slices are made as pods ask; else null.
  const mig::MigCard* mig_card = nullptr;
};

struct TracePod {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  int gpus = 0;                     // 0: asks for none
  int gpu_milli = 0;                // of each: 1..1000, 1000 where gpus > 1; 0 without GPUs
  std::vector<std::string> models;  // exact names, one of which it needs; empty: any
  /// The MIG profile that it asks for, on one GPU; empty: it asks for a GPU or a part of one. Of
  /// the first card of the trace that has the profile it is `gpu_milli` and `mig_slices` memory
  /// slices; of another it may be less or more.
  std::string mig_profile{};
  int mig_slices = 0;

  [[nodiscard]] std::int64_t milli() const { return std::int64_t{gpus} * gpu_milli; }
  friend bool operator==(const TracePod&, const TracePod&) = default;
};

struct Arrival {
  std::size_t pod = 0;             // position in Trace::pods
  std::optional<double> lifetime;  // in arrivals; nothing: it stays
};

struct Trace {
  std::vector<TraceNode> nodes;  // by rank: of equally scored ones the first wins
  std::vector<TracePod> pods;
  std::vector<Arrival> arrivals;

  /// Whether pods leave.
  [[nodiscard]] bool churns() const {
    return !arrivals.empty() && arrivals.front().lifetime.has_value();
  }
  /// Whether the arrival, counted from 0, is one of the later half, over which churn is measured.
  [[nodiscard]] bool is_in_later_half(std::size_t arrival) const {
    return arrival > arrivals.size() / 2;
  }
  [[nodiscard]] std::int64_t gpu_count() const {
    std::int64_t count = 0;
    for (const TraceNode& node : nodes) count += node.gpus;
    return count;
  }
};

/// All pods once in an order that the seed decides, then pods drawn with replacement until what has
/// arrived asks for `inflate` times the GPUs that there are. The same everywhere for one seed.
/// `inflate` > 0. Where no pod asks for a GPU: all pods once. Ends at kMaxTraceArrivals of
/// base/limits.hpp in any case.
[[nodiscard]] std::vector<Arrival> draw_arrivals(const std::vector<TracePod>& pods,
                                                 std::int64_t gpus, std::uint64_t seed,
                                                 double inflate);

}  // namespace snug::sim
