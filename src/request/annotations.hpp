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

/// The request's annotations, grouped by what they apply to. Views into the pod's facts.
struct SortedAnnotations {
  bool ask = false;  // any key except gpu-policy, which is also allowed with container limits
  std::optional<Annotation> policy;
  std::optional<Annotation> main_container;
  ContainerAnnotations unsuffixed;
  std::vector<ContainerAnnotations> suffixed;  // parallel to PodFacts::containers; empty: none
};

/// Refuses a key that is given under two names, a malformed gpu-policy, and a suffix `.<container>`
/// that names no container of the pod or follows a pod-level key.
[[nodiscard]] std::expected<SortedAnnotations, model::Refusal> sort_annotations(
    const model::PodFacts& pod);

/// Precondition: `annotations.ask`.
[[nodiscard]] std::expected<model::GpuRequest, model::Refusal> parse_annotations(
    const model::PodFacts& pod, SortedAnnotations annotations);

}  // namespace snug::request
