// Random choices for tests: the same for a seed on every machine. The standard fixes mt19937_64,
// but not its distributions, so these are our own. A test shows the seed of the case that fails.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace snug {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// One of 0..n-1; `n` > 0.
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  /// The same for amounts.
  std::int64_t draw(std::int64_t n) {
    return static_cast<std::int64_t>(below(static_cast<std::size_t>(n)));
  }
  /// Returns a random number in first..last.
  std::int64_t from_to(std::int64_t first, std::int64_t last) {
    return first + draw(last - first + 1);
  }
  bool chance(std::size_t percent) { return below(100) < percent; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  /// `items` is not empty.
  template <typename T>
  const T& pick(const std::vector<T>& items) {
    return items.at(below(items.size()));
  }
  template <typename T>
  T& pick(std::vector<T>& items) {
    return items.at(below(items.size()));
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace snug
