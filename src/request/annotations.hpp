// A pod's gpu-* annotations → GpuRequest.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "request/annotation_keys.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// The annotations of a pod's request, by what they apply to. Views into the pod's facts.
struct SortedAnnotations {
  bool ask = false;  // any except gpu-policy, which may stand beside container limits too
  std::optional<Annotation> policy;
  std::optional<Annotation> main_container;
  ContainerAnnotations unsuffixed;
  std::vector<ContainerAnnotations> suffixed;  // as PodFacts::containers; empty: there are none
};

/// Refuses a key with `.<container>` that is for the whole pod or names no container of the pod,
/// two names of one key, and a malformed gpu-policy.
[[nodiscard]] std::expected<SortedAnnotations, Refusal> sort_annotations(const PodFacts& pod);

/// `annotations.ask` is true.
[[nodiscard]] std::expected<GpuRequest, Refusal> parse_annotations(const PodFacts& pod,
                                                                   SortedAnnotations annotations);

}  // namespace snug
