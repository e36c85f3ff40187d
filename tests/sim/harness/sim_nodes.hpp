// Makes the nodes of the simulated cluster, and changes them at random.
#pragma once

#include <string>

#include "sim/harness/objects.hpp"
#include "support/random.hpp"

namespace snug {

inline constexpr int kSimNodes = 6;

enum class SimCluster {
  kShares,  // no GPU is in MIG mode
  kSlices,  // most GPUs are in MIG mode, on nodes with and without agents
};

/// Returns node `number` as it is when the simulation begins.
[[nodiscard]] SimNode first_node(SimCluster cluster, int number);

/// Changes something about the GPUs of the node or about the settings of its operator. `serial`
/// must differ in each call. Returns a text about the change, for the trace.
std::string change_something(SimNode& node, Random& random, int serial);

/// Gives the node other GPUs, as if another machine had got its name.
void replace_gpus(SimNode& node, int serial);

}  // namespace snug
