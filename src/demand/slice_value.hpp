// The learned demand for MIG slices, and the value that a MIG card has for this demand. The value
// depends on the state s of the card: the set of taken cells. Pure.
//
// The model: pods request slices of the card one after another. The probability that a pod requests
// profile p is f_p. Each slice goes to the start that leaves the highest value. Sizes and values
// are in eighths of a card.
//
//   value(s) = (1 - w) * (V(s) + [churning] (kHeadroomWeight * P(s) + kDrainWeight * T(s)^2))
//            + w * prior(s)
//
// The part [churning] is 0 while the cluster fills. The symbols are:
//
//   V(s)     The expected size of the slices that the card still gets before the first pod
//            arrives that fits neither on this card nor on another one:
//            V(s) = sum over the p that fit of f_p * (size_p + max over starts of V(s with p))
//                   / (1 - sum over the p that do not fit of d_p * f_p)
//   d_p      The probability that another card has a place for a slice of p:
//            d_p = d * min(1, m_p / a_p)^2. It is less than d if pods request more slices of p
//            than all cards can have.
//   d        The upper limit of all d_p: 1 - (cards + 1)^-kOtherCardExponent; when churning, at
//            most kMostOtherCardInChurn.
//   m_p      The number of slices of p that an empty card can have at once.
//   a_p      8 * f_p / mean size: the average number of slices of p among requested slices that
//            add up to the size of one card.
//   P(s)     The headroom: sum over p of f_p * size_p^2 / mean size * sum over j = 1, 2, ... of
//            kHeadroomDiscount^(eighths that must become free until j slices of p fit at once)
//   T(s)     The taken eighths. Its square keeps new slices away from nearly empty cards.
//   prior(s) 8 * free_placement_slices(s) / free_placement_slices(empty card). It keeps all
//            profiles possible.
//   w        The weight of the prior: max(0, 1 - d * n / kEnoughSlices), where n is the number
//            of requested slices, including those of the prior.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/demand/demand_tables.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::demand {

enum class Regime : std::uint8_t { kFilling, kChurning };

/// The demand for the slices of one MIG table, on all cards that have this table. The comment at
/// the top of this file explains the symbols.
struct SliceDemand {
  model::MigTablePtr table;              // null if there are no such cards
  std::vector<double> share_by_profile;  // f_p of each profile; the sum is 1
  double prior_weight = 0;               // w, the weight of the prior
  double other_card = 0;                 // d while the cluster fills
};

/// The requirement that a slice must meet to serve pods of this shape: the profile that they
/// request, or the size of their share. Nullopt if they request whole GPUs or no GPUs.
[[nodiscard]] std::optional<mig::SliceRequirement> slice_requirement(const PodShape& shape);

/// The demand for slices, indexed by GpuInfo::mig_table_id. A share counts as the smallest slice
/// that can serve it. An element has no table if no GPU in MIG mode has the table.
[[nodiscard]] std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply);

/// Computes value(s) for all states. The table is empty if `demand` has no table, or if the card
/// has more than SliceValueTable::kMaxCells cells.
[[nodiscard]] model::SliceValueTable make_slice_value_table(const SliceDemand& demand,
                                                            Regime regime);

}  // namespace snug::demand
