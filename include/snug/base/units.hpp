// Quantities of the ledger: integers with a unit, never floating point. The range is far inside
// 64 bits by the limits of base/limits.hpp, so sums of one node cannot overflow.
#pragma once

#include <compare>
#include <cstdint>

namespace snug {

template <typename Unit>
struct Quantity {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator-(Quantity a) { return {-a.value}; }
  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
};

/// GPU memory in MiB (2^20 bytes).
using MebiBytes = Quantity<struct MebiBytesUnit>;
/// Compute of one GPU in thousandths: 1000 = the whole GPU.
using MilliGpu = Quantity<struct MilliGpuUnit>;

inline constexpr MilliGpu kWholeGpu{1000};

/// The largest number of MiB or of units that any text may state: more than any GPU or node has,
/// and far from overflow when summed.
inline constexpr std::int64_t kLargestQuantity = 1'000'000'000;

}  // namespace snug
