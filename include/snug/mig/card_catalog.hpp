// The built-in tables of the GPU models that support MIG, as NVIDIA publishes them. Pure;
// thread-safe.
//
// Sources: NVIDIA MIG User Guide, "Supported MIG Profiles" (profiles and counts); transcripts of
// `nvidia-smi mig -lgip` and `-lgipp` (memory, placements); NVIDIA/mig-parted and NVIDIA/go-nvml
// where no transcript is known. Each row of src/mig/card_catalog.cpp names its source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug::mig {

/// A card's table, with the card's common name.
struct MigCard {
  std::string name;        // `A100-40GB`
  base::MebiBytes memory;  // of the whole card, nominal
  model::MigTablePtr table;
};

/// All cards, oldest generation first.
[[nodiscard]] std::span<const MigCard> mig_cards();

/// The cards that a product named `model` can be, judged by the words of the name alone.
[[nodiscard]] std::vector<const MigCard*> mig_cards_named(std::string_view model);

/// The cards whose product name starts with the words of `model`, where `model` is too short to
/// identify one (`RTX PRO`).
[[nodiscard]] std::vector<const MigCard*> mig_cards_with_prefix(std::string_view model);

/// The card whose product is named `model` (`NVIDIA-A100-SXM4-40GB`, `A100 80GB PCIe`,
/// `NVIDIA-H100-NVL`). The words may have any case and order; the suffixes -SHARED and -MIG-… are
/// ignored. `memory` distinguishes cards of one name that differ in memory; 0: unknown. Null: no
/// MIG card has this name, or several do.
[[nodiscard]] const MigCard* find_mig_card(std::string_view model, base::MebiBytes memory);

/// The table of a card whose profiles a node publishes with `name`, `size`, `memory` and `starts`.
/// Compute slices and engines follow from the names (`3g.20gb+me`):
///   - `+me` and `+me.all` use the card's one extension.
///   - If any name ends in `-me` or `+me.all`, the card has as many media engines as compute
///     slices. `+me.all` uses all of them, `-me` none, and any other profile as many as it has
///     compute slices.
/// The axis ends with the last slice. Aliases are kept. Null: a name is malformed or duplicated, a
/// start is beyond the longest axis, no profile has a start, or there are more than
/// kMaxMigProfiles.
[[nodiscard]] model::MigTablePtr build_mig_table(std::vector<model::MigProfile> published);

/// A parsed profile name: `3g.20gb+me` has 3 compute slices, 20 GB and the attribute `+me`.
struct MigProfileName {
  int compute = 0;
  int gigabytes = 0;
  std::string attribute;  // empty, `+me`, `+me.all`, `+gfx`, `-me`
  std::string canonical;  // NVIDIA's spelling, without the prefix of a compute instance (`3c.`)
};
/// Parses NVIDIA's grammar `[Nc.]Ng.Mgb[attribute]`. The prefix of a compute instance must cover
/// the whole slice (`3c.3g.20gb`). Nullopt: not the name of a profile.
[[nodiscard]] std::optional<MigProfileName> parse_mig_profile_name(std::string_view text);

/// A device plug-in offers slices as the resource `nvidia.com/mig-<profile>`, and with the suffix
/// `.shared` where it renames replicas.
inline constexpr std::string_view kMigResourcePrefix = "nvidia.com/mig-";
inline constexpr std::string_view kSharedResourceSuffix = ".shared";
/// The profile in a resource name, as spelled there; empty: the resource is not a slice.
[[nodiscard]] std::string_view profile_in_resource(std::string_view resource);
/// Parses a profile as labels and resources spell it: with `.` in place of the `+` of `1g.10gb+me`.
[[nodiscard]] std::optional<MigProfileName> parse_resource_profile(std::string_view part);

}  // namespace snug::mig
