// CPU and memory of nodes and pods, counted as kube-scheduler's NodeResourcesFit does. They do not
// decide about GPUs. Score terms read them, and preempt uses them so as not to free a GPU on a node
// that would still lack CPU or memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace snug {

/// Never negative. Sums saturate, since requests may be as large as 64 bits allow.
struct HostAmounts {
  std::int64_t cpu_milli = 0;     // thousandths of a core
  std::int64_t memory_bytes = 0;  // bytes

  HostAmounts& operator+=(const HostAmounts& other) {
    cpu_milli = sum(cpu_milli, other.cpu_milli);
    memory_bytes = sum(memory_bytes, other.memory_bytes);
    return *this;
  }
  friend HostAmounts operator+(HostAmounts a, const HostAmounts& b) { return a += b; }
  /// The maximum of each amount.
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

/// The unrequested part of a node; negative if pods request more than it has.
struct HostLeft {
  std::int64_t cpu_milli = 0;   // thousandths of a core
  std::int64_t memory_mib = 0;  // MiB, rounded down
};

/// A node's allocatable; `known` is false for a node that does not state it.
struct HostCapacity {
  HostAmounts amounts;
  std::int64_t pods = 0;
  bool known = false;

  friend bool operator==(const HostCapacity&, const HostCapacity&) = default;
};

}  // namespace snug
