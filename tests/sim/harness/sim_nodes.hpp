// The nodes of the simulated cluster, and what happens to them.
#pragma once

#include <string>

#include "sim/harness/objects.hpp"
#include "support/random.hpp"

namespace snug {

inline constexpr int kSimNodes = 6;

enum class SimCluster {
  kShares,  // no GPU is in MIG mode
  kSlices,  // most are, of several cards, dynamic and not
};

/// As it is when the simulation begins.
[[nodiscard]] SimNode first_node(SimCluster cluster, int number);

/// Something about the node's GPUs, or about what the operator allows there, becomes another.
/// `serial`: a number that was not given before. Returns what, for the trace.
std::string change_something(SimNode& node, Random& random, int serial);

/// Another machine has the node's name now, or the same with other GPUs.
void replace_gpus(SimNode& node, int serial);

}  // namespace snug
