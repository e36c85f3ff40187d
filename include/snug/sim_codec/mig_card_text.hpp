// Describes MIG cards, their profiles and their layouts, as text and as JSON. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::sim_codec {

/// Returns the card that `model` names, by the rules of mig/card_catalog.hpp. If the name is
/// ambiguous or incomplete, the error lists the cards that it can mean. If the name is unknown, the
/// error lists all known cards.
[[nodiscard]] base::Result<const mig::MigCard*> find_one_mig_card(std::string_view model);

/// The profiles from which layouts are made. kPlain: only profiles without an attribute such as
/// `+me`.
enum class LayoutScope : std::uint8_t { kPlain, kAll };

/// Returns a table of all cards with one line for each.
[[nodiscard]] std::string mig_card_list();
/// Returns the card's profiles as a table, and one line for each layout to which no slice can be
/// added. A slice is drawn as a box, an unused memory slice as a dot. The text is ASCII.
[[nodiscard]] std::string mig_picture(const mig::MigCard& card, LayoutScope which);

/// The same as mig_card_list() and mig_picture(), as JSON. The keys of a profile are named as those
/// of `migProfiles` in the annotation snug.dev/inventory.
[[nodiscard]] std::string write_mig_cards();
[[nodiscard]] std::string write_mig_card(const mig::MigCard& card, LayoutScope which);

}  // namespace snug::sim_codec
