// What a MIG card can be divided into, for people and for scripts. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::sim_codec {

/// The one card that `model` names (mig/card_catalog.hpp). An error is one sentence that lists the
/// known cards, or those that the name may mean.
[[nodiscard]] base::Result<const mig::MigCard*> find_one_mig_card(std::string_view model);

/// Which profiles the layouts are made of: the plain ones alone, or all.
enum class LayoutScope : std::uint8_t { kPlain, kAll };

/// All cards, one line each.
[[nodiscard]] std::string mig_card_list();
/// The card's profiles as a table, and its maximal layouts, one line each: slices as boxes, and a
/// dot for each memory slice that is left over. ASCII.
[[nodiscard]] std::string mig_picture(const mig::MigCard& card, LayoutScope which);

/// The same as JSON, with the key names of an inventory's `migProfiles`.
[[nodiscard]] std::string write_mig_cards();
[[nodiscard]] std::string write_mig_card(const mig::MigCard& card, LayoutScope which);

}  // namespace snug::sim_codec
