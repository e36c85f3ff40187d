// A pod's gpu-* annotations → GpuRequest.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "request/keys.hpp"
#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// The annotations sorted by whom they speak of. Views into the pod's facts.
struct SortedAnnotations {
  bool ask = false;  // any but gpu-policy, which may stand beside container limits too
  std::optional<Said> policy;
  std::optional<Said> container;
  ContainerSays unsuffixed;
  std::vector<ContainerSays> suffixed;  // as PodFacts::containers; empty: there are none
};

/// Refuses keys that this version cannot honour, that name no container of the pod or one where
/// none may stand, or that say the same thing twice, and a malformed gpu-policy.
[[nodiscard]] std::expected<SortedAnnotations, Refusal> sort_annotations(const PodFacts& pod);

/// What annotations that ask mean.
[[nodiscard]] std::expected<GpuRequest, Refusal> parse_annotations(const PodFacts& pod,
                                                                   SortedAnnotations annotations);

}  // namespace snug
