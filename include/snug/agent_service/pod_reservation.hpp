// The reservation that Snug has written to a pod of this node, for what is kept for living pods.
// Pure; thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "snug/agent/pod_view.hpp"
#include "snug/base/limits.hpp"
#include "snug/model/reservation.hpp"

namespace snug::agent_service {

/// Nullopt: the pod has none, or it cannot be read, is that of another pod or node, or the pod is
/// static, so that its author wrote the annotation.
[[nodiscard]] std::optional<model::Reservation> reservation_of(const agent::PodView& pod,
                                                               std::string_view node,
                                                               const base::Limits& limits);

}  // namespace snug::agent_service
