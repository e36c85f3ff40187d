// The terms of MIG slices.
#pragma once

#include "snug/score/terms.hpp"

namespace snug::score {

/// What MIG cards lose for the slices that will come, beyond the price of the pod's own slices, as
/// points of a cost (score/cost.hpp):
///
///   sum over the cards of round(value(before) - value(after) - sum of price(slice))
///
/// in steps of kSliceCostStep (SliceValueTable). A share that gets a slice has the share's price,
/// so that it goes to a GPU or to a slice, whichever costs less; any other slice has its size.
[[nodiscard]] std::int32_t slice_value(const TermInput& input);
/// -kNewSlicePoints for each slice that has to be created.
[[nodiscard]] std::int32_t slice_reuse(const TermInput& input);

}  // namespace snug::score
