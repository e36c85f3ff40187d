// Random choices that depend only on the seed. The C++ standard specifies mt19937_64, but not the
// algorithms of its distributions, so this class has its own. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace snug {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Returns a random number in 0..n-1. `n` must be positive.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  /// Returns a random element of `items`, which must not be empty.
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items[below(items.size())];
  }
  template <typename T>
  T& pick(std::vector<T>& items) {
    return items[below(items.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace snug
