// What of a GPU decides whom it can serve, by the constraints up to a level.
#pragma once

#include "fit/levels.hpp"
#include "fit/patterns.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// By which weights are told for all GPUs of the node: the largest capacity that it has.
[[nodiscard]] MebiBytes weigh_at(const NodeState& node);

/// `apart`: it holds someone whom the pod may not meet.
[[nodiscard]] GpuKind kind_of(const GpuState& gpu, Level level, bool apart, MebiBytes weigh_at,
                              const PatternBook& book);

}  // namespace snug
