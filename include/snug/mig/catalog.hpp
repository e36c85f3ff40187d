// The built-in tables of the cards that have MIG, as NVIDIA publishes them. Pure; any thread.
//
// Sources: NVIDIA MIG User Guide, "Supported MIG Profiles" (profiles and counts); transcripts of
// `nvidia-smi mig -lgip` and `-lgipp` (memory, placements); NVIDIA/mig-parted and NVIDIA/go-nvml
// where no transcript is known. Each row of src/mig/catalog.cpp names its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug {

/// A card's table, with the name that people know the card by.
struct MigCard {
  std::string name;  // `A100-40GB`
  MebiBytes memory;  // of the whole card, nominal
  MigTablePtr table;
};

/// All cards, in the order of generations.
[[nodiscard]] std::span<const MigCard> mig_cards();

/// Those that a product called `model` may be, as far as its words tell.
[[nodiscard]] std::vector<const MigCard*> mig_cards_called(std::string_view model);

/// Those whose products' names begin like `model`, which says too little to call any (`RTX PRO`).
[[nodiscard]] std::vector<const MigCard*> mig_cards_beginning(std::string_view model);

/// The table of the card whose product is called `model` (`NVIDIA-A100-SXM4-40GB`, `A100 80GB
/// PCIe`, `NVIDIA-H100-NVL`; words in any case and order, NVIDIA's suffixes -SHARED and -MIG-…
/// ignored). `memory` (0: not known) tells cards apart that have one name and different memories.
/// Null: no such card is known to have MIG, or what is said fits several.
[[nodiscard]] const MigCard* find_mig_card(std::string_view model, MebiBytes memory);

/// The table made of what a node publishes: profiles of which `name`, `size`, `memory` and `starts`
/// are set. Compute slices and engines follow from the names (`3g.20gb+me`): `+me` and `+me.all`
/// draw the one extension; where any name ends in `-me` or `+me.all`, the card counts media
/// engines, as many as compute slices, of which `+me.all` draws all, `-me` none, any other as many
/// as its compute slices. The axis ends with the last slice. Aliases are kept. Null: a name is none
/// or said twice, a start is off the longest axis, none has a start, or there are more than
/// kMostMigProfiles.
[[nodiscard]] MigTablePtr mig_table_of(std::vector<MigProfile> published);

/// A profile's name, read: `3g.20gb+me` has 3 compute slices, 20 GB and the attribute `+me`.
struct MigName {
  int compute = 0;
  int gigabytes = 0;
  std::string attribute;  // empty, `+me`, `+me.all`, `+gfx`, `-me`
  std::string name;       // as NVIDIA spells it: without a compute instance's prefix `3c.`
};
/// NVIDIA's grammar `[Nc.]Ng.Mgb[attribute]`, where a compute instance's prefix must say the whole
/// slice (`3c.3g.20gb`). Nothing: it is no profile's name.
[[nodiscard]] std::optional<MigName> parse_mig_name(std::string_view text);

/// The resource by which a device plug-in offers slices: this, the profile, and `.shared` where it
/// renames replicas.
inline constexpr std::string_view kMigResource = "nvidia.com/mig-";
inline constexpr std::string_view kRenamedReplicas = ".shared";
/// The profile, as labels and resources spell it; empty: the resource is no slice.
[[nodiscard]] std::string_view profile_part(std::string_view resource);
/// A spelling of labels and resources, read: they cannot have the `+` of `1g.10gb+me`, and have `.`
/// instead.
[[nodiscard]] std::optional<MigName> parse_profile_part(std::string_view part);

}  // namespace snug
