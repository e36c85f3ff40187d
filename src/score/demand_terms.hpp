// Score terms for what a placement costs future pods, according to the learned demand
// (model/demand.hpp). A term that is described by its cost has the value -kPointsPerMilli times
// that cost in milli-GPU. `before` and `after` are the node without and with the placement.
#pragma once

#include "snug/score/terms.hpp"

namespace snug::score {

/// The cost of this term is S(after) - S(before), where S is the number of stranded milli-GPU of
/// the node: those for which CPU is short or those for which memory is short, whichever are more
/// (StrandingTable).
[[nodiscard]] std::int32_t stranded_gpu(const TermInput& input);
/// The cost of this term is the sum over the pod's shares of
/// max(0, value(f) - value(f - s) - price(s)) for a share of s milli-GPU on a GPU with f free
/// milli-GPU (LeftOverTable).
[[nodiscard]] std::int32_t left_over_value(const TermInput& input);
/// The cost of this term is the milli-GPU that remain free on the GPUs on which the pod gets
/// shares.
[[nodiscard]] std::int32_t left_over_size(const TermInput& input);
/// The cost of this term is H(before) - H(after), where H is the headroom of the node
/// (MultiGpuHeadroom).
[[nodiscard]] std::int32_t multi_gpu_room(const TermInput& input);
/// The cost of this term is the sum over the placement's GPUs of the milli-GPU taken multiplied by
/// Demand::scarcity of the GPU's model.
[[nodiscard]] std::int32_t model_scarcity(const TermInput& input);

// Terms for MIG slices.

/// The cost of this term is the value for future slices that the placement's MIG cards lose, minus
/// the prices of the pod's own slices:
///
///   round(sum over the cards of (value(before) - value(after) - sum of price(slice)))
///
/// `value` is that of SliceValueTable; where slices are static, it is the size of the unused
/// slices. The cost is rounded to a multiple of kSliceCostStep. The price of a slice is its size,
/// except for a slice that serves a share: it has the price of the share, so that the share is
/// placed on a shared GPU or in a slice, whichever costs less.
[[nodiscard]] std::int32_t slice_value(const TermInput& input);
/// Returns -kNewSlicePoints for each slice that must be created, at least -kTermBound.
[[nodiscard]] std::int32_t slice_reuse(const TermInput& input);

// The term of fragmentation gradient descent (FGD; Weng et al., USENIX ATC 2023), with the authors'
// scale of scores.

/// Returns 1000 * floor(100 * sigmoid(d)), where d is the number of GPUs by which the placement
/// decreases the fragmentation of the node.
[[nodiscard]] std::int32_t fgd(const TermInput& input);

}  // namespace snug::score
