// Finds keys in a pod that look like a request for a GPU but are none that Snug reads: misspelled
// annotations, labels in place of annotations, and the keys of other systems. Such a pod would
// otherwise run without the GPU that its author expects, and nobody would say so. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/pod.hpp"
#include "snug/model/request.hpp"

namespace snug::request {

struct NearMiss {
  std::string sentence;  // names the key and what to write instead
  /// Whether the key is one of another system, which may be meant to read it.
  bool of_other_system = false;

  friend bool operator==(const NearMiss&, const NearMiss&) = default;
};

/// At most base::kMaxNearMisses; the pod's misspelled keys first.
[[nodiscard]] std::vector<NearMiss> near_misses(const model::PodFacts& pod);

/// A sentence about a pattern of gpu-model that matches none of `models`, with the nearest names;
/// empty: each container's patterns match a model, or there are no models.
[[nodiscard]] std::string unmatched_models(const model::GpuRequest& request,
                                           std::span<const std::string> models);

/// Whether PodFacts::stray_keys has this annotation: it is not among PodFacts::annotations, and
/// near_misses() may say something about it. Compares at most base::kMaxComparedKeys keys of a pod:
/// `compared` must be 0 for the first annotation, and then be left as it is.
[[nodiscard]] bool is_stray_annotation(std::string_view key, std::size_t& compared);
/// The same for a resource of a container, which is not among ContainerFacts::gpu_resources.
[[nodiscard]] bool is_stray_resource(std::string_view name);

}  // namespace snug::request
