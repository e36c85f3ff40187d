// Computes which slices can exist together on one MIG card. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/mig.hpp"

namespace snug::mig {

/// Whether `slice`, a placement of `table`, fits on a card whose other slices use `use`.
[[nodiscard]] bool slice_fits(const model::MigTable& table, const model::MigUse& use,
                              model::MigPlacement slice);
/// The sum of `use` and what `slice` uses.
[[nodiscard]] model::MigUse with_slice(const model::MigTable& table, model::MigUse use,
                                       model::MigPlacement slice);

/// All placements of the table, ordered by profile, then by start.
[[nodiscard]] std::vector<model::MigPlacement> all_placements(const model::MigTable& table);

/// The largest number of slices of one profile that fit on an empty card together.
[[nodiscard]] int max_slices(const model::MigTable& table, std::size_t profile);

/// Slices that can exist on one card together, ordered by start.
using MigLayout = std::vector<model::MigPlacement>;

/// All layouts to which no slice can be added, sorted, without duplicates. With `plain_only`,
/// profiles with attributes, which multiply the number of layouts, are ignored. For example, a card
/// of 7 compute slices has 78 such layouts of plain profiles (19 without the 1g profile of double
/// memory). If no slice fits on the empty card, the result has only the empty layout. The result
/// has no layouts if there are more than kMaxMigLayouts, or if the search takes more than
/// kMaxMigLayoutSteps (base/limits.hpp).
[[nodiscard]] std::vector<MigLayout> maximal_layouts(const model::MigTable& table, bool plain_only);
/// All layouts, including the empty one, with the order and the limits of maximal_layouts().
[[nodiscard]] std::vector<MigLayout> all_layouts(const model::MigTable& table);

}  // namespace snug::mig
