// The terms that go by what has been learned of demand (model/demand.hpp). But for fgd, which has
// the scale of its authors, each is the cost of a placement to the pods that will come, in
// milli-GPU that they cannot use any more; what costs more scores less: 0 where nothing changes,
// and kPointsPerMilli less for each.
#pragma once

#include "snug/score/terms.hpp"

namespace snug {

inline constexpr std::int64_t kPointsPerMilli = 10;

/// Idle GPU that demand cannot use for want of the CPU or the memory that the pod takes of the
/// node.
[[nodiscard]] std::int32_t stranded_gpu(const TermInput& input);
/// What could still be sold of the GPUs' left-overs as shares, beyond the price of the pod's own.
[[nodiscard]] std::int32_t left_over_value(const TermInput& input);
/// What MIG cards lose for the slices that will come, beyond the price of the pod's own.
[[nodiscard]] std::int32_t slice_value(const TermInput& input);
/// Slices that do not exist yet, 1,000 points for each.
[[nodiscard]] std::int32_t slice_reuse(const TermInput& input);
/// What a share leaves of its GPU.
[[nodiscard]] std::int32_t left_over_size(const TermInput& input);
/// Room for the pods that need several GPUs at once.
[[nodiscard]] std::int32_t multi_gpu_room(const TermInput& input);
/// GPUs of models that pods ask for by name, more than there are.
[[nodiscard]] std::int32_t model_scarcity(const TermInput& input);
/// FGD's score: 100 x sigmoid of the fragments' decrease in GPUs, cut to an integer, x 1000.
[[nodiscard]] std::int32_t fgd(const TermInput& input);

}  // namespace snug
