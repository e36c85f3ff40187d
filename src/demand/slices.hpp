// From counts of pods to what MIG cards are worth to them, by what is taken of a card. Pure.
#pragma once

#include <optional>
#include <vector>

#include "snug/demand/tables.hpp"
#include "snug/mig/choose.hpp"

namespace snug {

/// What pods ask of the cards with one MIG table.
struct SliceDemand {
  MigTablePtr table;         // null: none
  std::vector<double> part;  // of the slices that are asked for, by profile; adds up to 1
  double doubt = 0;          // how little is known of it: from 1, nothing, to 0
  /// Of pods for which one card has no room, how many it may wait for others after: from 0, where
  /// no other card would take them, to 1.
  double patience = 0;
};

/// What the shape's pods need of a MIG card: the slice that they name, or one that holds their
/// share. Nothing: whole GPUs.
[[nodiscard]] std::optional<SliceNeed> slice_need(const PodShape& shape);

/// By the numbers of the supply's tables, the first of which is none; nothing of one that no GPU in
/// MIG mode has. A pod that asks for a share
/// counts as the smallest slice that holds it.
[[nodiscard]] std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply);

/// A card with so much taken is worth, in eighths of a card, the sum of
///   - what is still sold of it: pods come by their parts f_p of the demand, each takes the start
///     that leaves the most, and the first that finds no room ends it, but for a patience, which is
///     the less the fewer cards there are to take that pod instead, and the less the more of its
///     profile is asked for than cards can have:
///       V(s) = sum over fitting p of f_p (size_p + max V(s with p)) / (1 - sum over others of d
///       f_p min(1, m_p / a_p)^2)
///     with m_p the slices of p that an empty card can have, and a_p = 8 f_p / mean size those
///     asked for while a card's worth of slices is;
///   - where pods leave, rooms: for each profile f_p size_p^2 / mean size, times the sum over its
///     1st, 2nd, ... room at once of fade^(eighths of the card that must come free for them);
///   - where pods leave, the square of what is taken: cards that are nearly empty then drain.
/// While little is known of the demand, a part of it goes by openness() instead, which keeps every
/// profile possible as long as it can.
/// Nothing where the card is divided into more than SliceWorth::kMostCells ranges.
[[nodiscard]] SliceWorth slice_worth(const SliceDemand& demand, bool churns);

}  // namespace snug
