// Runs the simulation with a deliberately broken Snug linked in. Succeeds when the naive model says
// what is wrong; a crash, an abort of Snug's own checks and a quiet run are failures.
#include <cstdint>
#include <cstdio>

#include "sim/harness/simulation.hpp"

int main() {
  constexpr std::uint64_t kSeeds = 200;
  constexpr int kSteps = 2'000;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const auto cluster : {snug::SimCluster::kShares, snug::SimCluster::kSlices}) {
      snug::Simulation run(seed, cluster);
      if (run.run(kSteps)) continue;
      std::printf("found at seed %ju:\n%s", static_cast<std::uintmax_t>(seed), run.trace().c_str());
      return 0;
    }
  }
  std::printf("not found in %ju seeds\n", static_cast<std::uintmax_t>(kSeeds));
  return 1;
}
