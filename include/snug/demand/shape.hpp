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

/// More than any node has of CPU (thousandths of a core) and memory (MiB): what pods and nodes say
/// has no limit but 64 bits, and what is learned of it is multiplied.
inline constexpr std::int64_t kMostOfHost = 1'000'000'000;

struct PodShape {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;        // of the node's
  std::int64_t gpus = 0;              // different ones at once; 0: none
  std::int64_t gpu_milli = 0;         // of each: 1..1000; at least, where `gpu_memory` is asked for
  MebiBytes gpu_memory;               // of each
  std::vector<std::string> wanted;    // ModelFilter
  std::vector<std::string> excluded;  // ModelFilter
  std::string mig_profile;            // of slices that it names
  std::int64_t slices = 0;            // so many, which `gpus` does not count

  /// Of all its GPUs together, where one has so much memory.
  [[nodiscard]] std::int64_t milli(MebiBytes of_gpu) const { return gpus * milli_each(of_gpu); }
  [[nodiscard]] std::int64_t milli_each(MebiBytes of_gpu) const;
  [[nodiscard]] bool asks() const { return gpus > 0 || slices > 0; }
  [[nodiscard]] bool names_models() const { return !wanted.empty() || !excluded.empty(); }

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

/// Apps and sidecars run together: those that ask for whole GPUs need as many as they ask for
/// together, those that ask for shares one share as large as theirs together, on as many GPUs as
/// any of them wants. An init container runs alone: on as many GPUs it counts where it asks for
/// more, on another number the one that asks for more in all counts. Of slices that
/// are named those of the profile of which there are most count; a unit of the kubelet's that is no
/// slice counts as a GPU. Of several model filters the last counts.
[[nodiscard]] PodShape shape_of(const GpuRequest& request, const HostAmounts& host);

}  // namespace snug
