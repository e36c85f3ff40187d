// From counts of pods to what MIG cards are worth to them, by what is taken of a card. Pure.
#pragma once

#include <vector>

#include "snug/demand/tables.hpp"

namespace snug {

/// By the numbers of the supply's tables, the first of which is none. A pod that asks for a share
/// counts as the smallest slice that holds it.
[[nodiscard]] std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply);

/// A card with so much taken is worth, in eighths of a card, the sum of
///   V: what is still sold of it, if pods come by their parts of the demand, each takes the start
///      that leaves the most, and it ends when one comes that finds no room but for a patience of
///      `patience`:  V(s) = sum of f_p (size_p + max V(s with p)) / (1 - patience (1 - fitting f));
///   rooms, where pods leave: for each profile f_p size_p^2 / mean size, times the sum over its 1st,
///      2nd, ... room at once of fade^(eighths of the card that must come free first);
///   and the square of what is taken, where pods leave: cards that are nearly empty then drain.
/// Nothing where the card is divided into more than SliceWorth::kMostCells ranges.
[[nodiscard]] SliceWorth slice_worth(const SliceDemand& demand, int churn);

}  // namespace snug
