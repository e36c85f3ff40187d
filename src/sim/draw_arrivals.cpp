// Does not use std::shuffle and std::uniform_int_distribution: their results differ between
// standard libraries, but a seed must give the same arrivals on every platform.
#include <random>
#include <utility>

#include "snug/base/limits.hpp"
#include "snug/sim/trace.hpp"

namespace snug::sim {
namespace {

/// A random number in 0..count-1. Discards generator values below 2^64 modulo `count`, so that all
/// results are equally likely.
std::size_t draw(std::mt19937_64& generator, std::size_t count) {
  const std::uint64_t surplus = (std::uint64_t{0} - count) % count;
  std::uint64_t number = generator();
  while (number < surplus) number = generator();
  return static_cast<std::size_t>(number % count);
}

}  // namespace

std::vector<Arrival> draw_arrivals(const std::vector<TracePod>& pods, std::int64_t gpus,
                                   std::uint64_t seed, double inflate) {
  std::mt19937_64 generator(seed);
  std::vector<Arrival> arrivals(pods.size());
  std::int64_t arrived_milli = 0;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    arrivals[i].pod = i;
    arrived_milli += pods[i].milli();
  }
  for (std::size_t unshuffled = pods.size(); unshuffled > 1; --unshuffled) {
    std::swap(arrivals[unshuffled - 1], arrivals[draw(generator, unshuffled)]);
  }
  if (arrived_milli == 0) return arrivals;
  const double target_milli = inflate * static_cast<double>(gpus * 1000);
  while (static_cast<double>(arrived_milli) < target_milli &&
         arrivals.size() < base::kMaxTraceArrivals) {
    const std::size_t pod = draw(generator, pods.size());
    arrivals.push_back({.pod = pod});
    arrived_milli += pods[pod].milli();
  }
  return arrivals;
}

}  // namespace snug::sim
