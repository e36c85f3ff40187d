#include "snug/mig/catalog.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "snug/base/check.hpp"

namespace snug {
namespace {

/// Profiles of one kind of card, their memory apart.
struct Kind {
  int compute;
  int size;  // memory slices
  std::string_view attribute;
  std::uint32_t starts;  // bit s: may start at memory slice s
};

struct Pattern {
  int axis;
  std::span<const Kind> kinds;
};

// `-lgipp` of A100-40, H100-80 and H100 NVL; of the others the guide's diagrams say the same.
constexpr auto kSevenSliceKinds = std::to_array<Kind>({{1, 1, "", 0b0111'1111},
                                                       {1, 1, "+me", 0b0111'1111},
                                                       {1, 2, "", 0b0101'0101},
                                                       {2, 2, "", 0b0001'0101},
                                                       {3, 4, "", 0b0001'0001},
                                                       {4, 4, "", 0b0000'0001},
                                                       {7, 8, "", 0b0000'0001}});
constexpr Pattern kSevenSlices{8, kSevenSliceKinds};

// go-nvml a30.go; guide.
constexpr auto kFourSliceKinds = std::to_array<Kind>({{1, 1, "", 0b1111},
                                                      {1, 1, "+me", 0b1111},
                                                      {2, 2, "", 0b0101},
                                                      {2, 2, "+me", 0b0101},
                                                      {4, 4, "", 0b0001}});
constexpr Pattern kFourSlices{4, kFourSliceKinds};

// `-lgipp` of a Server Edition.
constexpr auto kTwelveSliceKinds = std::to_array<Kind>({{1, 3, "", 0b0010'0100'1001},
                                                        {1, 3, "+me", 0b0010'0100'1001},
                                                        {1, 3, "+gfx", 0b0010'0100'1001},
                                                        {1, 3, "+me.all", 0b0010'0100'1001},
                                                        {1, 3, "-me", 0b0010'0100'1001},
                                                        {2, 6, "", 0b0000'0100'0001},
                                                        {2, 6, "+gfx", 0b0000'0100'0001},
                                                        {2, 6, "+me.all", 0b0000'0100'0001},
                                                        {2, 6, "-me", 0b0000'0100'0001},
                                                        {4, 12, "", 1},
                                                        {4, 12, "+gfx", 1}});
constexpr Pattern kTwelveSlices{12, kTwelveSliceKinds};

// Guide, which counts profiles; no placements are published, so that a slice of this axis is the
// smallest profile.
constexpr auto kHalvesWithMediaKinds = std::to_array<Kind>({{1, 1, "", 0b11},
                                                            {1, 1, "+me", 0b11},
                                                            {1, 1, "+gfx", 0b11},
                                                            {1, 1, "+me.all", 0b11},
                                                            {1, 1, "-me", 0b11},
                                                            {2, 2, "", 0b01},
                                                            {2, 2, "+gfx", 0b01}});
constexpr Pattern kHalvesWithMedia{2, kHalvesWithMediaKinds};
constexpr auto kHalvesKinds = std::to_array<Kind>({{1, 1, "", 0b11},
                                                   {1, 1, "+gfx", 0b11},
                                                   {1, 1, "+me.all", 0b11},
                                                   {1, 1, "-me", 0b11},
                                                   {2, 2, "", 0b01},
                                                   {2, 2, "+gfx", 0b01}});
constexpr Pattern kHalves{2, kHalvesKinds};

/// What profiles of one size are called, and have.
struct Part {
  int size;
  int gigabytes;
  int mib;
};

struct Row {
  std::string_view name;
  int mib;
  const Pattern* pattern;
  std::array<Part, 4> parts;  // by size; size 0: no more
};

// Names: guide, or mig-parted (GH200-144GB, GB200, B300, GB300). Memory: as each row says; "part":
// of no transcript, so the nominal part of the card, of which a real one has a little less.
constexpr auto kRows = std::to_array<Row>({
    // go-nvml a30.go
    {"A30", 24'576, &kFourSlices, {{{1, 6, 5'836}, {2, 12, 11'672}, {4, 24, 23'344}}}},
    // -lgip
    {"A100-40GB",
     40'960,
     &kSevenSlices,
     {{{1, 5, 4'864}, {2, 10, 9'856}, {4, 20, 19'968}, {8, 40, 40'192}}}},
    // go-nvml a100.go
    {"A100-80GB",
     81'920,
     &kSevenSlices,
     {{{1, 10, 9'856}, {2, 20, 19'968}, {4, 40, 40'192}, {8, 80, 80'384}}}},
    // -lgip of SXM5
    {"H100-80GB",
     81'920,
     &kSevenSlices,
     {{{1, 10, 9'984}, {2, 20, 20'096}, {4, 40, 40'448}, {8, 80, 81'152}}}},
    // -lgip of H100 NVL
    {"H100-94GB",
     96'256,
     &kSevenSlices,
     {{{1, 12, 11'008}, {2, 24, 22'144}, {4, 47, 47'488}, {8, 94, 95'360}}}},
    // -lgip of H20 for 1g, the others times that
    {"H100-96GB",
     98'304,
     &kSevenSlices,
     {{{1, 12, 12'032}, {2, 24, 24'064}, {4, 48, 48'128}, {8, 96, 96'256}}}},
    // a listing of unknown origin, 3g and 4g twice the half of it: the nominal 1g is more than fits
    {"H200-141GB",
     144'384,
     &kSevenSlices,
     {{{1, 18, 16'384}, {2, 35, 33'280}, {4, 71, 66'560}, {8, 141, 143'360}}}},
    // part
    {"GH200-144GB",
     147'456,
     &kSevenSlices,
     {{{1, 18, 18'432}, {2, 36, 36'864}, {4, 72, 73'728}, {8, 144, 147'456}}}},
    // go-nvml b200.go, but 1g: part, since the nominal one is more than fits
    {"B200",
     184'320,
     &kSevenSlices,
     {{{1, 23, 23'040}, {2, 45, 46'080}, {4, 90, 92'160}, {8, 180, 184'320}}}},
    // k8s-test-infra gb200.yaml
    {"GB200",
     190'464,
     &kSevenSlices,
     {{{1, 23, 23'808}, {2, 47, 47'616}, {4, 93, 95'232}, {8, 186, 190'464}}}},
    // part
    {"B300",
     275'456,
     &kSevenSlices,
     {{{1, 34, 34'432}, {2, 67, 68'864}, {4, 135, 137'728}, {8, 269, 275'456}}}},
    // k8s-test-infra gb300.yaml
    {"GB300",
     284'672,
     &kSevenSlices,
     {{{1, 35, 35'584}, {2, 70, 71'168}, {4, 139, 142'336}, {8, 278, 284'672}}}},
    // -lgip of a Server Edition
    {"RTX-PRO-6000",
     98'304,
     &kTwelveSlices,
     {{{3, 24, 24'192}, {6, 48, 48'512}, {12, 96, 97'408}}}},
    // part
    {"RTX-PRO-5000", 49'152, &kHalvesWithMedia, {{{1, 24, 24'576}, {2, 48, 49'152}}}},
    // part
    {"RTX-PRO-4500", 32'768, &kHalves, {{{1, 16, 16'384}, {2, 32, 32'768}}}},
});

struct Alias {
  std::string_view card;
  std::string_view name;
  std::string_view alias;
};

// go-nvlib rounds the A100's memory so (HAMi, nos). mig-parted names slices of a GB200 with 189 GB
// besides those of the one with 186; a driver of either knows its own names alone.
constexpr auto kAliases = std::to_array<Alias>({{"A100-80GB", "7g.80gb", "7g.79gb"},
                                                {"GB200", "3g.93gb", "3g.95gb"},
                                                {"GB200", "4g.93gb", "4g.95gb"},
                                                {"GB200", "7g.186gb", "7g.189gb"}});

constexpr const Part& part_of(const Row& row, const Kind& kind) {
  return *std::ranges::find(row.parts, kind.size, &Part::size);
}

/// Whether each profile has its memory, all of them at once fit the card's, and lie on its axis.
constexpr bool consistent(const Row& row) {
  return std::ranges::all_of(row.pattern->kinds, [&](const Kind& kind) {
    const auto part = std::ranges::find(row.parts, kind.size, &Part::size);
    return part != row.parts.end() && kind.starts != 0 &&
           part->mib * row.pattern->axis <= row.mib * kind.size &&
           (std::uint64_t{kind.starts} << (kind.size - 1)) >> row.pattern->axis == 0;
  });
}
static_assert(std::ranges::all_of(kRows, consistent));

std::string alias_of(std::string_view card, std::string_view profile) {
  const auto found = std::ranges::find_if(
      kAliases, [&](const Alias& alias) { return alias.card == card && alias.name == profile; });
  return found == kAliases.end() ? "" : std::string(found->alias);
}

MigProfile profile_of(const Row& row, const Kind& kind) {
  const Part& part = part_of(row, kind);
  MigProfile profile{.name = std::to_string(kind.compute) + "g." + std::to_string(part.gigabytes) +
                             "gb" + std::string(kind.attribute),
                     .size = kind.size,
                     .memory{part.mib}};
  profile.alias = alias_of(row.name, profile.name);
  for (int start = 0; start < row.pattern->axis; ++start) {
    if ((kind.starts >> start & 1) != 0) profile.starts.push_back(start);
  }
  return profile;
}

std::vector<MigCard> build_cards() {
  std::vector<MigCard> cards;
  for (const Row& row : kRows) {
    std::vector<MigProfile> profiles;
    for (const Kind& kind : row.pattern->kinds) profiles.push_back(profile_of(row, kind));
    MigTablePtr table = mig_table_of(std::move(profiles));
    SNUG_CHECK(table != nullptr && table->axis == row.pattern->axis);
    cards.push_back({std::string(row.name), {row.mib}, std::move(table)});
  }
  return cards;
}

}  // namespace

std::span<const MigCard> mig_cards() {
  static const std::vector<MigCard> cards = build_cards();
  return cards;
}

}  // namespace snug
