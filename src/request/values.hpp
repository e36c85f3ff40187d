// What the keys of one container mean together.
#pragma once

#include <expected>

#include "request/keys.hpp"
#include "snug/model/refusal.hpp"
#include "snug/model/request.hpp"

namespace snug {

/// The request without container and kind. Refuses malformed values and contradictions.
[[nodiscard]] std::expected<ContainerRequest, Refusal> read_container_request(
    const ContainerSays& says);

}  // namespace snug
