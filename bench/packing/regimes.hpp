// Workloads that were not used for tuning: other mixes of the trace's pods, other loads and
// lifetimes, pods of which some never leave, and demand or load that changes during the run. They
// are generated from a seed, and are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/sim/trace.hpp"

namespace snug_bench {

/// The frequency of each kind of pod, relative to its frequency in the trace's list.
struct Mix {
  double share = 1;
  double one = 1;
  double two = 1;
  double four = 1;
  double eight = 1;
  double cpu_only = 1;
  double cpu_times = 1;  // the CPU of pods with GPUs
  double naming = 0;     // the part of them that names one or two GPU models
};

enum class Lifetimes : std::uint8_t {
  kExponential,
  kLogNormal,  // a heavy tail
  kTwoKinds,   // one in ten lives ten times as long as the others
  kSomeStay,   // two fifths of the GPUs go to pods that never leave
};

struct Regime {
  std::string name;
  Mix mix;
  Mix later;  // from arrival `change` on
  bool churns = true;
  double load = 0.95;  // requested GPUs at any time / GPUs of the cluster
  double later_load = 0.95;
  Lifetimes lifetimes = Lifetimes::kExponential;
  std::size_t change = 0;    // 0: nothing changes
  bool fills_first = false;  // no pod leaves before `change`
};

[[nodiscard]] std::vector<Regime> regimes();

/// `base`: the nodes and the pods of the trace.
[[nodiscard]] snug::sim::Trace draw(const Regime& regime, const snug::sim::Trace& base,
                                    std::uint64_t seed);

}  // namespace snug_bench
