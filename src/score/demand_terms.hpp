// Score terms for what a placement costs future pods, according to the learned demand
// (model/demand.hpp). Where a comment states the cost of a term, the cost is in milli-GPU, and the
// term's value is -kPointsPerMilli times the cost. `before` and `after` are the node without and
// with the placement.
#pragma once

#include "snug/score/terms.hpp"

namespace snug::score {

/// The cost of this term is S(after) - S(before), where S is the number of stranded milli-GPU of
/// the node. S is the larger of two numbers: the milli-GPU for which CPU is short, and those for
/// which memory is short (StrandingTable).
[[nodiscard]] std::int32_t stranded_gpu(const TermInput& input);
/// The cost of this term is the sum over the pod's shares of max(0, value(f) - value(f - s) -
/// price(s)). Here s is the size of the share, f is what is free on its GPU without the share, both
/// in milli-GPU, and `value` and `price` are those of LeftOverTable.
[[nodiscard]] std::int32_t left_over_value(const TermInput& input);
/// The cost of this term is the milli-GPU that remain free on the GPUs on which the pod gets
/// shares.
[[nodiscard]] std::int32_t left_over_size(const TermInput& input);
/// The cost of this term is H(before) - H(after), where H is the headroom of the node
/// (MultiGpuHeadroom).
[[nodiscard]] std::int32_t multi_gpu_room(const TermInput& input);
/// The cost of this term is a sum over the placement's GPUs: the milli-GPU that the pod takes of
/// the GPU, multiplied by Demand::scarcity of the GPU's model.
[[nodiscard]] std::int32_t model_scarcity(const TermInput& input);

// Terms for MIG slices.

/// The cost of this term is the value for future slices that the placement's MIG cards lose, minus
/// the prices of the pod's own slices:
///
///   round(sum over the cards of (value(before) - value(after) - sum of price(slice)))
///
/// `value` comes from SliceValueTable if the node's slices are created on demand. If they are
/// static, `value` is the total size of the unused slices. The cost is rounded to a multiple of
/// kSliceCostStep. The price of a slice is its size, with one exception: a slice that serves a
/// share has the price of the share. So a share is placed on a shared GPU or in a slice, whichever
/// costs less.
[[nodiscard]] std::int32_t slice_value(const TermInput& input);
/// Returns -kNewSlicePoints times the number of slices that must be created, but never less than
/// -kTermBound.
[[nodiscard]] std::int32_t slice_reuse(const TermInput& input);

// The term of fragmentation gradient descent (FGD; Weng et al., USENIX ATC 2023), with the authors'
// scale of scores.

/// Returns 1000 * floor(100 * sigmoid(d)), where d is the number of GPUs by which the placement
/// decreases the fragmentation of the node.
[[nodiscard]] std::int32_t fgd(const TermInput& input);

}  // namespace snug::score
