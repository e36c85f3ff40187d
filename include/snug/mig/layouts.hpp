// Which slices go together on one card. Pure.
#pragma once

#include <functional>
#include <span>
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

/// A set of slices that go together, in ascending order of their starts.
using MigLayout = std::vector<MigPlacement>;

/// Every layout to which no slice can be added, in ascending order, none twice. Of the plain
/// profiles alone, or of all: with attributes there are many more. The layouts of the 7-slice cards
/// are 78 of plain profiles (19 without the double-memory 1g).
[[nodiscard]] std::vector<MigLayout> maximal_layouts(const MigTable& table, bool plain_only);
/// Every layout, the empty one too.
[[nodiscard]] std::vector<MigLayout> all_layouts(const MigTable& table);

}  // namespace snug
