// Random choices that are the same for a seed on every machine: the standard fixes mt19937_64, but
// not its distributions, so these are our own. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace snug {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// 0..n-1; `n` > 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  bool chance(std::size_t percent) { return below(100) < percent; }
  /// `items` is not empty.
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
