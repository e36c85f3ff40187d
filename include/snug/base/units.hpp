// Integer types for GPU memory and compute, one for each unit. The limits in base/limits.hpp keep
// values so small that sums over a node do not overflow 64 bits.
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
/// Thousandths of one GPU: 1000 is the whole GPU.
using MilliGpu = Quantity<struct MilliGpuUnit>;

inline constexpr MilliGpu kWholeGpu{1000};

/// The largest amount (in MiB, in thousandths of a GPU or core, or in units of a resource
/// nvidia.com/*) that Snug accepts in inventories, reservations, labels, policies, traces and
/// limits of pods. It is more than any GPU or node has, and small enough that sums do not overflow.
inline constexpr std::int64_t kLargestQuantity = 1'000'000'000;

}  // namespace snug::base
