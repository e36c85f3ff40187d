// The results of a replay. Percentages are 0 to 100; a value that the run does not define is
// absent. sim_codec/report_codec writes it.
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

/// At the arrivals at which the demand that has arrived, rounded to a whole percent of the
/// cluster's GPUs, is 100 or 130: the mean over them, in % of the cluster's GPUs.
struct AtDemand {
  std::optional<double> at100;
  std::optional<double> at130;
};

/// Of a trace whose pods leave, over the later half of the arrivals: those whose number, from 0, is
/// more than half of how many there are.
struct ChurnReport {
  double allocation_mean = 0;                // % of the cluster's GPUs in use after an arrival
  std::optional<double> gpu_accepted_pct;    // of the milli-GPU asked for
  double rejected_pct = 0;                   // of the pods
  std::optional<double> multi_rejected_pct;  // of the pods that ask for several GPUs
};

/// Of a trace whose pods ask for MIG profiles. Where pods leave, over the later half of the
/// arrivals; else at the end, and over all.
struct MigReport {
  double memory_slices_pct = 0;                         // in use, of those of the GPUs in MIG mode
  double rejected_pct = 0;                              // of the pods that ask for profiles
  std::optional<double> rejected_4_slices_or_more_pct;  // of those that ask for so large ones
};

/// The allocation, in % of the cluster's GPUs, over the demand that has arrived, in % of them too:
/// `x`, a whole number, at the last arrival at which it rounds to that. Of a trace whose pods
/// leave, after some 200 of the arrivals, evenly apart, and `x` is not rounded.
struct CurvePoint {
  double x = 0;
  double allocation_pct = 0;
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
  std::vector<CurvePoint> curve;  // for the chart; no part of the JSON
};

}  // namespace snug::sim
