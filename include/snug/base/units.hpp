// Quantities of the ledger: integers with a unit, never floating point. The limits in
// base/limits.hpp keep values far below 64 bits, so sums over a node cannot overflow.
#pragma once

#include <compare>
#include <cstdint>

namespace snug::base {

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

/// The largest number of MiB or units that is accepted from any input: more than any GPU or node
/// has, and small enough that sums do not overflow.
inline constexpr std::int64_t kLargestQuantity = 1'000'000'000;

}  // namespace snug::base
