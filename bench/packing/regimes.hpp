// Workloads that nobody tuned for: other mixes of the trace's pods, other loads and lifetimes, pods
// that stay below a layer that churns, and demand or load that changes on the way. Drawn from a
// seed, the same everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/sim/trace.hpp"

namespace snug_bench {

/// How often each kind of pod comes, in times of how often it stands in the trace's list.
struct Mix {
  double share = 1;
  double one = 1;
  double two = 1;
  double four = 1;
  double eight = 1;
  double cpu_only = 1;
  double cpu_times = 1;  // the CPU of pods with GPUs
  double naming = 0;     // the part of them that names a GPU model, or two
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
  double load = 0.95;  // the GPUs asked for at any time, of those there are
  double later_load = 0.95;
  Lifetimes lifetimes = Lifetimes::kExponential;
  std::size_t change = 0;    // 0: nothing changes
  bool fills_first = false;  // nobody leaves before `change`
};

[[nodiscard]] std::vector<Regime> regimes();

/// `base`: the nodes and the pods of the trace.
[[nodiscard]] snug::sim::Trace draw(const Regime& regime, const snug::sim::Trace& base,
                                    std::uint64_t seed);

}  // namespace snug_bench
