// The two extended resources that show GPU shares to Kubernetes: kubectl, ResourceQuota and
// kube-scheduler's preemption add them up. They never decide where a pod fits; the ledger does.
// Plain data.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug::model {

/// Thousandths of GPUs, and MiB of GPU memory, in a node's capacity and in a container's limits.
inline constexpr std::string_view kMilliResource = "snug.dev/gpu-milli";
inline constexpr std::string_view kMemoryResource = "snug.dev/gpu-memory-mib";

/// Amounts of both resources: of a container, of a pod, or of a node's capacity.
struct MirroredAmounts {
  base::MilliGpu milli;
  base::MebiBytes memory;

  MirroredAmounts& operator+=(const MirroredAmounts& other) {
    milli += other.milli;
    memory += other.memory;
    return *this;
  }
  friend MirroredAmounts operator+(MirroredAmounts a, const MirroredAmounts& b) { return a += b; }
  /// The larger amount of each resource.
  [[nodiscard]] static MirroredAmounts max(const MirroredAmounts& a, const MirroredAmounts& b) {
    return {.milli = std::max(a.milli, b.milli), .memory = std::max(a.memory, b.memory)};
  }
  friend auto operator<=>(const MirroredAmounts&, const MirroredAmounts&) = default;
};

/// The amounts in one list of a node's status. Nullopt: the list lacks the resource.
struct ListedAmounts {
  std::optional<std::int64_t> milli;       // thousandths of GPUs
  std::optional<std::int64_t> memory_mib;  // MiB

  friend bool operator==(const ListedAmounts&, const ListedAmounts&) = default;
};

/// The amounts that a node's status shows, whoever wrote them.
struct ShownAmounts {
  ListedAmounts capacity;
  ListedAmounts allocatable;

  friend bool operator==(const ShownAmounts&, const ShownAmounts&) = default;
};

}  // namespace snug::model
