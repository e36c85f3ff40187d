// Which slices go together on one card. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/model/mig.hpp"

namespace snug {

/// Whether the card has room for this slice beside what is taken. The placement is one of the
/// table's.
[[nodiscard]] bool has_room(const MigTable& table, const MigUse& use, MigPlacement slice);
/// The same with the slice.
[[nodiscard]] MigUse with_slice(const MigTable& table, MigUse use, MigPlacement slice);

/// All that the table allows on an empty card, by profile, then by start.
[[nodiscard]] std::vector<MigPlacement> placements(const MigTable& table);

/// So many slices of one profile an empty card can have.
[[nodiscard]] int most_slices(const MigTable& table, std::size_t profile);

/// A set of slices that go together, in ascending order of their starts.
using MigLayout = std::vector<MigPlacement>;

/// Every layout to which no slice can be added, in ascending order, none twice. Of the plain
/// profiles alone, or of all: with attributes there are many more. The layouts of the 7-slice cards
/// are 78 of plain profiles (19 without the double-memory 1g). No layout at all: there are more
/// than kMostMigLayouts, or they are not found within kMostMigLayoutSteps (base/limits.hpp); where
/// no slice has room, the one layout is the empty one.
[[nodiscard]] std::vector<MigLayout> maximal_layouts(const MigTable& table, bool plain_only);
/// Every layout, the empty one too; no layout at all, as above.
[[nodiscard]] std::vector<MigLayout> all_layouts(const MigTable& table);

}  // namespace snug
