// What a MIG card can be divided into, for people and for scripts. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/mig/catalog.hpp"

namespace snug {

/// The card that `model` can only mean (mig/catalog.hpp). An error is one sentence that names the
/// cards that there are, or those that it may mean.
[[nodiscard]] Result<const MigCard*> one_mig_card(std::string_view model);

/// Whose layouts are shown: of the plain profiles alone, or of all.
enum class MigLayouts : std::uint8_t { kPlain, kAll };

/// All cards, one line each.
[[nodiscard]] std::string mig_card_list();
/// The card's profiles as a table, and its layouts to which no slice can be added, one line each:
/// the axis, with slices as boxes and a dot for each memory slice that is left over. ASCII.
[[nodiscard]] std::string mig_picture(const MigCard& card, MigLayouts which);

/// The same as JSON, with the inventory's names for what it has too (`migProfiles`).
[[nodiscard]] std::string write_mig_cards();
[[nodiscard]] std::string write_mig_card(const MigCard& card, MigLayouts which);

}  // namespace snug
