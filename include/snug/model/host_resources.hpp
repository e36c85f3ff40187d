// CPU and memory of nodes and pods, counted as kube-scheduler's NodeResourcesFit does. They do not
// decide about GPUs. Score terms read them, and preempt uses them so as not to free a GPU on a node
// that would still lack CPU or memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace snug::model {

/// Never negative. Sums saturate, since requests may be as large as 64 bits allow.
struct HostResources {
  std::int64_t cpu_milli = 0;     // thousandths of a core
  std::int64_t memory_bytes = 0;  // bytes

  HostResources& operator+=(const HostResources& other) {
    cpu_milli = saturating_sum(cpu_milli, other.cpu_milli);
    memory_bytes = saturating_sum(memory_bytes, other.memory_bytes);
    return *this;
  }
  friend HostResources operator+(HostResources a, const HostResources& b) { return a += b; }
  /// The maximum of each amount.
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

/// The unrequested part of a node; negative if pods request more than it has.
struct HostFree {
  std::int64_t cpu_milli = 0;   // thousandths of a core
  std::int64_t memory_mib = 0;  // MiB, rounded down
};

/// A node's allocatable; `known` is false for a node that does not state it.
struct HostAllocatable {
  HostResources resources;
  std::int64_t pod_slots = 0;
  bool known = false;

  friend bool operator==(const HostAllocatable&, const HostAllocatable&) = default;
};

}  // namespace snug::model
