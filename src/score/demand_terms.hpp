// The terms that weigh what a placement costs the pods that will come, by the learned demand
// (model/demand.hpp). Each is -kPointsPerMilli for each milli-GPU that those can use no more, 0 if
// nothing changes. `before` and `after` are the node without and with the pod.
#pragma once

#include "snug/score/terms.hpp"

namespace snug::score {

/// S(after) - S(before), S being the idle milli-GPU of the node that demand cannot use for want of
/// CPU or of memory, the larger of the two (StrandingTable).
[[nodiscard]] std::int32_t stranded_gpu(const TermInput& input);
/// Of each share of size s on a GPU with `left` milli-GPU free (LeftOverTable):
/// max(0, value(left) - value(left - s) - price(s)).
[[nodiscard]] std::int32_t left_over_value(const TermInput& input);
/// Milli-GPU that shares leave free on their GPUs.
[[nodiscard]] std::int32_t left_over_size(const TermInput& input);
/// H(before) - H(after), H being the node's headroom (MultiGpuHeadroom).
[[nodiscard]] std::int32_t multi_gpu_room(const TermInput& input);
/// The sum over the GPUs of milli-GPU taken * Demand::scarcity of the model.
[[nodiscard]] std::int32_t model_scarcity(const TermInput& input);

}  // namespace snug::score
