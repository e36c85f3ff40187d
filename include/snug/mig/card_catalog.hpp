// The built-in MIG tables of the GPU models that support MIG (cards), and functions that parse
// NVIDIA's names of products and profiles. Pure; thread-safe.
//
// Sources of the tables: NVIDIA MIG User Guide, "Supported MIG Profiles" (profiles, and the number
// of slices of each); output of `nvidia-smi mig -lgip` and `-lgipp` (memory and placements);
// NVIDIA/mig-parted and NVIDIA/go-nvml for cards whose output is not known. Each row of
// src/mig/card_catalog.cpp names its source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug::mig {

/// A kind of card, with its MIG table. Several products may be the same kind of card.
struct MigCard {
  std::string name;        // `A100-40GB`
  base::MebiBytes memory;  // nominal memory of the whole card
  model::MigTablePtr table;
};

/// All cards, oldest generation first.
[[nodiscard]] std::span<const MigCard> mig_cards();

/// The cards that can have the product name `model`, judged only by the words of the name.
[[nodiscard]] std::vector<const MigCard*> mig_cards_named(std::string_view model);

/// The cards for which `model` is an incomplete product name: `model` has the first or the first
/// few of the required words of the card's name, and none of the others. For example, `RTX PRO` is
/// an incomplete name of each RTX PRO card.
[[nodiscard]] std::vector<const MigCard*> mig_cards_with_prefix(std::string_view model);

/// The card with the product name `model` (`NVIDIA-A100-SXM4-40GB`, `A100 80GB PCIe`,
/// `NVIDIA-H100-NVL`). The words may have any case and order; the suffixes -SHARED and -MIG-… are
/// ignored. `memory` distinguishes cards with the same name; 0 if unknown. Null if no card has this
/// name and memory, or if `memory` is 0 and several cards have this name.
[[nodiscard]] const MigCard* find_mig_card(std::string_view model, base::MebiBytes memory);

/// Builds the table of a card from its profiles. Reads `name`, `alias`, `size`, `memory` and
/// `starts` of each profile. Compute slices and engines follow from the names (`3g.20gb+me`):
///   - `+me` and `+me.all` use the card's one set of media extensions.
///   - If any name ends in `-me` or `+me.all`, the card has as many media engines as compute
///     slices. `+me.all` uses all of them, `-me` none, and any other profile as many as it has
///     compute slices.
/// The card has as many memory slices as the largest `start + size` of its profiles. Null if a name
/// is malformed or duplicated, a slice does not fit into kMaxAxisSlices, no profile has a start, or
/// the table exceeds kMaxMigProfiles or base::kMaxMigPlacements.
[[nodiscard]] model::MigTablePtr build_mig_table(std::vector<model::MigProfile> published);

/// A parsed profile name: `3g.20gb+me` has 3 compute slices, 20 GB and the attribute `+me`.
struct MigProfileName {
  int compute = 0;
  int gigabytes = 0;
  std::string attribute;  // `+me`, `+me.all`, `+gfx`, `-me` or empty
  std::string canonical;  // the name without the prefix of a compute instance (`3c.`)
};
/// Parses a profile name of the form `[Nc.]Ng.Mgb[attribute]`, such as `3c.3g.20gb`. `Nc.` is the
/// prefix of a compute instance; both numbers N must be equal. Nullopt if `text` is not such a
/// name.
[[nodiscard]] std::optional<MigProfileName> parse_mig_profile_name(std::string_view text);
/// Returns the spelling that MIG tables have for the profile, or `profile` itself if it is not the
/// name of a profile.
[[nodiscard]] std::string canonical_profile_name(std::string profile);
/// Returns the other name of a profile that has two: some drivers round down the memory in the name
/// of the A100 80 GB's largest profile. Empty for other profiles.
[[nodiscard]] std::string profile_alias(std::string_view profile);

/// Prefix and suffix of the resource names of the MIG slices that NVIDIA's device plug-in offers:
/// `nvidia.com/mig-<profile>`. The plug-in appends the suffix if it is configured to rename
/// replicas.
inline constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";
inline constexpr std::string_view kSharedResourceSuffix = ".shared";
/// The profile in the name of a resource of MIG slices; empty if `resource` is not such a name.
[[nodiscard]] std::string_view profile_in_resource(std::string_view resource);
/// Parses a profile name as in labels and resource names, where `1g.10gb+me` is `1g.10gb.me`.
[[nodiscard]] std::optional<MigProfileName> parse_resource_profile(
    std::string_view resource_profile);

}  // namespace snug::mig
