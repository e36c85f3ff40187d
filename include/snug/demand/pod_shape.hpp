// The request of a pod in the form in which demand counts it. Pods of the same shape are counted
// together. Plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/host_resources.hpp"
#include "snug/model/request.hpp"

namespace snug::demand {

/// The upper bound of CPU (thousandths of a core) and memory (MiB) in shapes and supply, more than
/// any node has. Larger amounts are reduced to it, so that products in the tables do not overflow.
inline constexpr std::int64_t kMaxHostAmount = 1'000'000'000;

struct PodShape {
  std::int64_t host_cpu_milli = 0;   // requested CPU of the node
  std::int64_t host_memory_mib = 0;  // requested memory of the node
  std::int64_t gpus = 0;             // number of different GPUs; slices are not included
  std::int64_t gpu_milli = 0;        // for each GPU, 1..1000; a lower bound if `gpu_memory` is set
  base::MebiBytes gpu_memory;        // for each GPU; 0 if the request does not state it
  std::vector<std::string> included_models;  // ModelFilter::included
  std::vector<std::string> excluded_models;  // ModelFilter::excluded
  std::string mig_profile;                   // the profile of the slices; empty if none
  std::int64_t slice_count = 0;              // number of MIG slices

  /// The milli-GPU of all GPUs together, without slices, if each GPU has the memory `of_gpu`.
  [[nodiscard]] std::int64_t total_milli(base::MebiBytes of_gpu) const {
    return gpus * milli_per_gpu(of_gpu);
  }
  /// The milli-GPU on each GPU, if it has the memory `of_gpu`.
  [[nodiscard]] std::int64_t milli_per_gpu(base::MebiBytes of_gpu) const;
  [[nodiscard]] bool asks_for_gpus() const { return gpus > 0 || slice_count > 0; }
  [[nodiscard]] bool names_models() const {
    return !included_models.empty() || !excluded_models.empty();
  }

  friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

/// Computes the shape of a request.
///   - App containers and sidecars run at the same time. Their whole GPUs are added up. If they
///     request no whole GPUs, they count as one container. It requests the sum of their shares,
///     on as many GPUs as the container with the largest number of GPUs.
///   - Init containers run one after another, so the request of each is compared with the shape
///     so far. If both have the same number of GPUs, the shape gets the larger share of each
///     GPU. Otherwise the shape gets the GPUs of the one with more milli-GPU in all.
///   - If there are several MIG profiles, the one with the most slices counts.
///   - A kubelet-assigned unit that is not a MIG slice counts as a whole GPU.
///   - If several containers have a model filter, the filter of the last one counts.
[[nodiscard]] PodShape shape_of(const model::GpuRequest& request, const model::HostResources& host);

}  // namespace snug::demand
