// nvidia.com/* in containers' limits → GpuRequest.
#pragma once

#include <expected>

#include "snug/model/pod.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// Empty: the limits ask for nothing.
[[nodiscard]] std::expected<GpuRequest, Refusal> parse_resources(const PodFacts& pod);

}  // namespace snug
