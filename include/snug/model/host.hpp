// CPU and memory of nodes and pods, as kube-scheduler's NodeResourcesFit counts them. They decide
// nothing about GPUs: terms may score them, and preempt must not free a GPU on a node that stays
// short of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace snug {

/// Not below 0. Sums stop at the largest number: what pods ask has no limit but 64 bits.
struct HostAmounts {
  std::int64_t cpu_milli = 0;     // thousandths of a core
  std::int64_t memory_bytes = 0;  // bytes

  HostAmounts& operator+=(const HostAmounts& other) {
    cpu_milli = sum(cpu_milli, other.cpu_milli);
    memory_bytes = sum(memory_bytes, other.memory_bytes);
    return *this;
  }
  friend HostAmounts operator+(HostAmounts a, const HostAmounts& b) { return a += b; }
  /// The larger in each.
  [[nodiscard]] static HostAmounts max(const HostAmounts& a, const HostAmounts& b) {
    return {.cpu_milli = std::max(a.cpu_milli, b.cpu_milli),
            .memory_bytes = std::max(a.memory_bytes, b.memory_bytes)};
  }
  friend bool operator==(const HostAmounts&, const HostAmounts&) = default;

 private:
  static std::int64_t sum(std::int64_t a, std::int64_t b) {
    std::int64_t all = 0;
    return __builtin_add_overflow(a, b, &all) ? std::numeric_limits<std::int64_t>::max() : all;
  }
};

/// What nobody has asked of a node yet; below 0 where more is asked than it has.
struct HostLeft {
  std::int64_t cpu_milli = 0;   // thousandths of a core
  std::int64_t memory_mib = 0;  // MiB, rounded down
};

/// A node's allocatable; nothing is known of a node that states none.
struct HostCapacity {
  HostAmounts amounts;
  std::int64_t pods = 0;
  bool known = false;

  friend bool operator==(const HostCapacity&, const HostCapacity&) = default;
};

}  // namespace snug
