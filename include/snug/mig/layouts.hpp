// Which slices can exist together on one card. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/mig.hpp"

namespace snug::mig {

/// Whether `slice` fits beside what `use` says is taken. `slice` is a placement of `table`.
[[nodiscard]] bool slice_fits(const model::MigTable& table, const model::MigUse& use,
                              model::MigPlacement slice);
/// `use` with `slice` added.
[[nodiscard]] model::MigUse with_slice(const model::MigTable& table, model::MigUse use,
                                       model::MigPlacement slice);

/// Every placement that the table allows on an empty card, by profile, then by start.
[[nodiscard]] std::vector<model::MigPlacement> all_placements(const model::MigTable& table);

/// How many slices of one profile fit on an empty card.
[[nodiscard]] int max_slices(const model::MigTable& table, std::size_t profile);

/// Slices that fit on one card together, in ascending order of their starts.
using MigLayout = std::vector<model::MigPlacement>;

/// Every layout to which no slice can be added, each once, in ascending order. `plain_only` leaves
/// out profiles with attributes, which multiply the layouts. A 7-slice card has 78 layouts of plain
/// profiles (19 without the double-memory 1g). If no slice fits on the empty card, the result is
/// the empty layout. The result has no layout if there are more than kMaxMigLayouts, or if the
/// search takes more than kMaxMigLayoutSteps (base/limits.hpp).
[[nodiscard]] std::vector<MigLayout> maximal_layouts(const model::MigTable& table, bool plain_only);
/// Every layout, including the empty one; under the same limits.
[[nodiscard]] std::vector<MigLayout> all_layouts(const model::MigTable& table);

}  // namespace snug::mig
