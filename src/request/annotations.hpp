// Parses a pod's gpu-* annotations into a GpuRequest.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "request/annotation_keys.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/reasons.hpp"
#include "snug/model/request.hpp"

namespace snug::request {

/// The annotations of a GPU request, grouped by what they apply to. They are views into PodFacts.
struct SortedAnnotations {
  bool ask = false;  // whether there is any key other than gpu-policy
  std::optional<Annotation> policy;
  std::optional<Annotation> main_container;
  ContainerAnnotations unsuffixed;
  std::vector<ContainerAnnotations> suffixed;  // one for each of PodFacts::containers, or empty
};

/// Groups the pod's annotations. Refuses a key that is given under two names, a malformed
/// gpu-policy, and a suffix `.<container>` that names no container of the pod or follows a key for
/// the whole pod.
[[nodiscard]] std::expected<SortedAnnotations, model::Refusal> sort_annotations(
    const model::PodFacts& pod);

/// Parses the result of sort_annotations(). Requires `annotations.ask`.
[[nodiscard]] std::expected<model::GpuRequest, model::Refusal> parse_annotations(
    const model::PodFacts& pod, SortedAnnotations annotations);

}  // namespace snug::request
