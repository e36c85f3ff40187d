// What of a GPU decides whom it can serve, by the constraints up to a level.
#pragma once

#include <cstddef>

#include "fit/levels.hpp"
#include "fit/patterns.hpp"
#include "snug/model/snapshot.hpp"

namespace snug {

/// By which weights are told for all GPUs of the node: the largest capacity that it has.
[[nodiscard]] MebiBytes weigh_at(const NodeState& node);

/// How a GPU is looked at.
struct KindView {
  Level level = Level::kTenants;
  ContainerSet takers = 0;  // those whose gpu-model takes it
  bool apart = false;       // it holds someone whom the pod may not meet
  bool unenforced = false;  // the pod's shares must be enforced, and nobody does on this node
  MebiBytes weigh_at;
};

/// `position`: of one of the node's GPUs.
[[nodiscard]] GpuKind kind_of(const NodeState& node, std::size_t position, const KindView& view);

}  // namespace snug
