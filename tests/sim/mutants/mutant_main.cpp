// Runs the simulation with a deliberately broken Snug linked in. Succeeds when the naive model says
// what is wrong; a crash, an abort of Snug's own checks and a quiet run are failures.
//
//   sim_mutant_NAME [CLUSTER SEED]      this run first: the patch's line `found: CLUSTER SEED`
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "sim/harness/cluster_simulation.hpp"
#include "sim/harness/simulation.hpp"

namespace {

template <typename Run>
bool finds(Run run, const char* cluster, std::uint64_t seed) {
  constexpr int kSteps = 2'000;
  if (run.run(kSteps)) return false;
  std::printf("found: %s %ju\n%s", cluster, static_cast<std::uintmax_t>(seed), run.trace().c_str());
  return true;
}

bool found_by_one_snug(snug::SimCluster cluster, std::uint64_t seed) {
  const bool shares = cluster == snug::SimCluster::kShares;
  return finds(snug::Simulation(seed, cluster), shares ? "shares" : "slices", seed);
}

bool found_by_two_snugs(std::uint64_t seed) {
  return finds(snug::ClusterSimulation(seed, snug::options_of(seed)), "two", seed);
}

bool found_by(std::string_view cluster, std::uint64_t seed) {
  if (cluster == "two") return found_by_two_snugs(seed);
  return found_by_one_snug(
      cluster == "shares" ? snug::SimCluster::kShares : snug::SimCluster::kSlices, seed);
}

}  // namespace

int main(int count, char** arguments) {
  constexpr std::uint64_t kSeeds = 200;
  constexpr std::uint64_t kPairs = 3;  // runs of two Snugs per run of one: they are short
  if (count == 3 && found_by(arguments[1], std::strtoull(arguments[2], nullptr, 10))) return 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t pair = kPairs * seed - kPairs + 1; pair <= kPairs * seed; ++pair) {
      if (found_by_two_snugs(pair)) return 0;
    }
    for (const auto cluster : {snug::SimCluster::kShares, snug::SimCluster::kSlices}) {
      if (found_by_one_snug(cluster, seed)) return 0;
    }
  }
  std::printf("not found in %ju seeds\n", static_cast<std::uintmax_t>(kSeeds));
  return 1;
}
