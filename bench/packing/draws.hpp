// Random numbers that are the same everywhere for one seed.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>

namespace snug_bench {

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : bits_(seed) {}

  /// From 0 to below 1.
  double part() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(bits_() % end); }
  double exponential() { return -std::log(1 - part()); }
  double normal() {
    const double radius = std::sqrt(2 * exponential());
    return radius * std::cos(2 * std::numbers::pi * part());
  }

 private:
  std::mt19937_64 bits_;
};

}  // namespace snug_bench
