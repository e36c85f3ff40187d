// A pod's request as demand counts it: pods of one shape are the same pod to the tables. Plain
// data, ordered.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/host_resources.hpp"
#include "snug/model/request.hpp"

namespace snug::demand {

/// The bound on CPU (thousandths of a core) and memory (MiB) of shapes and supply, more than any
/// node has: amounts from outside may be as large as 64 bits, and the tables multiply them.
inline constexpr std::int64_t kMaxHostAmount = 1'000'000'000;

struct PodShape {
  std::int64_t host_cpu_milli = 0;
  std::int64_t host_memory_mib = 0;  // of the node
  std::int64_t gpus = 0;             // distinct GPUs at once; without those of `slices`
  std::int64_t gpu_milli = 0;        // of each, 1..1000; a lower bound if `gpu_memory` is set
  base::MebiBytes gpu_memory;        // of each
  std::vector<std::string> included_models;  // ModelFilter
  std::vector<std::string> excluded_models;  // ModelFilter
  std::string mig_profile;                   // of `slices`, if it names one
  std::int64_t slice_count = 0;              // MIG slices

  /// Of all its GPUs together, if one has this much memory.
  [[nodiscard]] std::int64_t total_milli(base::MebiBytes of_gpu) const {
    return gpus * milli_per_gpu(of_gpu);
  }
  [[nodiscard]] std::int64_t milli_per_gpu(base::MebiBytes of_gpu) const;
  [[nodiscard]] bool asks_for_gpus() const { return gpus > 0 || slice_count > 0; }
  [[nodiscard]] bool names_models() const {
    return !included_models.empty() || !excluded_models.empty();
  }

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

/// Regular containers and sidecars run together: their whole GPUs add up; their shares add up to
/// one share, on as many GPUs as the largest count among them. Init containers run one at a time:
/// the shape covers each of them too if it has the same number of GPUs, else it takes the larger in
/// milli-GPU. Of several MIG profiles the one with the most slices counts; a unit of the kubelet
/// that is no slice counts as a GPU. Of several model filters the last one counts.
[[nodiscard]] PodShape shape_of(const model::GpuRequest& request, const model::HostResources& host);

}  // namespace snug::demand
