// Random numbers for tests that run one case per seed. A seed gives the same numbers on every
// machine, and a failing test prints the seed of its case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace snug {

class Random {
 public:
  explicit Random(std::uint64_t seed) : generator_(seed) {}

  /// Returns a random number in 0..n-1.
  std::int64_t draw(std::int64_t n) {
    return static_cast<std::int64_t>(generator_() % static_cast<std::uint64_t>(n));
  }
  /// Returns a random number in first..last.
  std::int64_t from_to(std::int64_t first, std::int64_t last) {
    return first + draw(last - first + 1);
  }
  bool one_in(std::int64_t n) { return draw(n) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values.at(static_cast<std::size_t>(draw(static_cast<std::int64_t>(values.size()))));
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace snug
