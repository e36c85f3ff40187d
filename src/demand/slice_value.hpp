// The learned demand for MIG slices, and what a MIG card is worth to it by which parts of the card
// are taken. Pure.
//
// Pods for one card arrive one after another, of profile p with probability f_p, and each takes the
// start that leaves the most. With sizes in eighths of a card, a card with state s is worth
//
//   value(s) = (1 - w) * (V(s) + [churning] (kHeadroomWeight * P(s) + kDrainWeight * T(s)^2))
//            + w * prior(s)
//
//   V(s)     = sum over fitting p of f_p * (size_p + max over starts of V(s with p))
//              / (1 - sum over the other p of d_p * f_p)
//              What is still sold before a pod comes that fits neither here nor on another card.
//   d_p      = d * min(1, m_p / a_p)^2, the probability that another card has a place for it: less
//              than d if more of its profile is asked for than all cards can have
//   d        = 1 - (cards + 1)^-kOtherCardExponent, at most kMostOtherCardInChurn when churning
//   m_p      = slices of p that an empty card can have at once
//   a_p      = 8 * f_p / mean size: slices of p among one card's worth of slices
//   P(s)     = sum over p of f_p * size_p^2 / mean size * sum over j = 1, 2, ... of
//              kHeadroomDiscount^(eighths that must come free until j slices of p fit at once)
//   T(s)     = eighths that are taken: the square keeps nearly empty cards from being refilled
//   prior(s) = free_placement_slices(s) / free_placement_slices(empty card) * 8, which keeps every
//   profile possible w        = max(0, 1 - d * slices seen / kEnoughSlices), the prior's slices
//   included
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/demand/demand_tables.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::demand {

enum class Regime : std::uint8_t { kFilling, kChurning };

/// The demand for slices of the cards with one MIG table.
struct SliceDemand {
  model::MigTablePtr table;              // null: there are no such cards
  std::vector<double> share_by_profile;  // f_p of the slices asked for; adds up to 1
  double prior_weight = 0;               // w
  double other_card = 0;                 // d, when filling
};

/// What the shape's pods need of a MIG card: the slice that they name, or one that holds their
/// share. Nothing: they need whole GPUs.
[[nodiscard]] std::optional<mig::SliceRequirement> slice_requirement(const PodShape& shape);

/// By the supply's MIG table numbers. Shares count as the smallest slice that holds them. Without a
/// table where no GPU in MIG mode has it.
[[nodiscard]] std::vector<SliceDemand> slice_demand(const ShapeCounts& pods, const Supply& supply);

/// Unknown for a card of more than SliceValueTable::kMaxCells cells.
[[nodiscard]] model::SliceValueTable make_slice_value_table(const SliceDemand& demand,
                                                            Regime regime);

}  // namespace snug::demand
