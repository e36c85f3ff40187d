// Runs the simulation with a deliberately broken Snug linked in. Succeeds when the naive model says
// what is wrong; a crash, an abort of Snug's own checks and a quiet run are failures.
#include <cstdint>
#include <cstdio>

#include "sim/harness/cluster_simulation.hpp"
#include "sim/harness/simulation.hpp"

namespace {

template <typename Run>
bool finds(Run& run, std::uint64_t seed) {
  constexpr int kSteps = 2'000;
  if (run.run(kSteps)) return false;
  std::printf("found at seed %ju:\n%s", static_cast<std::uintmax_t>(seed), run.trace().c_str());
  return true;
}

}  // namespace

int main() {
  constexpr std::uint64_t kSeeds = 200;
  constexpr std::uint64_t kPairs = 3;  // runs of two Snugs, for each of one: they are short
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t pair = kPairs * seed - kPairs + 1; pair <= kPairs * seed; ++pair) {
      snug::ClusterSimulation two(pair, snug::options_of(pair));
      if (finds(two, pair)) return 0;
    }
    for (const auto cluster : {snug::SimCluster::kShares, snug::SimCluster::kSlices}) {
      snug::Simulation one(seed, cluster);
      if (finds(one, seed)) return 0;
    }
  }
  std::printf("not found in %ju seeds\n", static_cast<std::uintmax_t>(kSeeds));
  return 1;
}
