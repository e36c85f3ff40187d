// CPU and memory of nodes and pods, counted as in kube-scheduler's NodeResourcesFit. Filter and
// bind ignore them, because kube-scheduler checks them itself. Score terms read them. Preempt reads
// them to avoid evictions on a node that would lack CPU or memory even without the victims.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace snug::model {

/// Amounts of CPU and memory, never negative. Sums saturate instead of overflowing, since a request
/// may be any 64-bit number.
struct HostResources {
  std::int64_t cpu_milli = 0;     // thousandths of a core
  std::int64_t memory_bytes = 0;  // bytes

  HostResources& operator+=(const HostResources& other) {
    cpu_milli = saturating_sum(cpu_milli, other.cpu_milli);
    memory_bytes = saturating_sum(memory_bytes, other.memory_bytes);
    return *this;
  }
  friend HostResources operator+(HostResources a, const HostResources& b) { return a += b; }
  /// The larger CPU and the larger memory of `a` and `b`.
  [[nodiscard]] static HostResources max(const HostResources& a, const HostResources& b) {
    return {.cpu_milli = std::max(a.cpu_milli, b.cpu_milli),
            .memory_bytes = std::max(a.memory_bytes, b.memory_bytes)};
  }
  friend bool operator==(const HostResources&, const HostResources&) = default;

 private:
  static std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
    std::int64_t all = 0;
    return __builtin_add_overflow(a, b, &all) ? std::numeric_limits<std::int64_t>::max() : all;
  }
};

/// The CPU and memory of a node that no pod has requested. Negative if pods request more than is
/// allocatable.
struct HostFree {
  std::int64_t cpu_milli = 0;   // thousandths of a core
  std::int64_t memory_mib = 0;  // MiB, rounded down
};

/// Allocatable CPU, memory and number of pods of a node. `known` is false if the node does not
/// state them.
struct HostAllocatable {
  HostResources resources;
  std::int64_t pod_slots = 0;
  bool known = false;

  friend bool operator==(const HostAllocatable&, const HostAllocatable&) = default;
};

}  // namespace snug::model
