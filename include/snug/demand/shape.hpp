// What one pod asks, as demand is counted: pods of one shape are the same to whoever plans for
// them. Plain data, ordered.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/host.hpp"
#include "snug/model/request.hpp"

namespace snug {

struct PodShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;        // of the node's
  std::int64_t gpus = 0;              // different ones at once; 0: none
  std::int64_t gpu_milli = 0;         // of each: 1..1000; at least, where `gpu_memory` is asked for
  MebiBytes gpu_memory;               // of each
  std::vector<std::string> wanted;    // ModelFilter
  std::vector<std::string> excluded;  // ModelFilter

  /// Of all its GPUs together, where one has so much memory.
  [[nodiscard]] std::int64_t milli(MebiBytes of_gpu) const { return gpus * milli_each(of_gpu); }
  [[nodiscard]] std::int64_t milli_each(MebiBytes of_gpu) const;
  [[nodiscard]] bool names_models() const { return !wanted.empty() || !excluded.empty(); }

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

/// Apps and sidecars run together: those that ask for whole GPUs need as many as they ask for
/// together, those that ask for shares one share as large as theirs together, on as many GPUs as
/// any of them wants. An init container runs alone, and counts where it asks for more. Slices that
/// a device plug-in offers do not count, any other unit of the kubelet's counts as a GPU.
[[nodiscard]] PodShape shape_of(const GpuRequest& request, const HostAmounts& host);

}  // namespace snug
