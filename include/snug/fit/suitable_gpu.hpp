// Whether a GPU could serve a container if it had room: the rules of fit() about one GPU, without
// what is free on it. For explanations.
#pragma once

#include <cstddef>

#include "snug/fit/fit.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Whether the GPU at this position of NodeState::gpus is large enough for the first container of
/// memo.request(), which is not kubelet-assigned, is open, and has a suitable model and mode. The
/// pods on the GPU, other pods' isolation and the cap of the namespace do not matter.
[[nodiscard]] bool is_suitable(const model::NodeState& node, std::size_t gpu, const Tenant& tenant,
                               FitMemo& memo);

}  // namespace snug::fit
