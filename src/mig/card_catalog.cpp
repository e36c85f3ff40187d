#include "snug/mig/card_catalog.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "snug/base/check.hpp"

namespace snug::mig {
namespace {

/// A profile without its memory. Cards with the same geometry differ only in memory.
struct ProfileShape {
  int compute;
  int size;  // memory slices
  std::string_view attribute;
  std::uint32_t starts;  // bit s is set if a slice may start at memory slice s
};

/// The memory slices and profiles that several cards have in common.
struct CardGeometry {
  int memory_slices;
  std::span<const ProfileShape> shapes;
};

// Sources: `nvidia-smi mig -lgipp` of A100-40, H100-80 and H100 NVL; the diagrams of the MIG User
// Guide for other cards.
constexpr auto kSevenSliceShapes = std::to_array<ProfileShape>({{1, 1, "", 0b0111'1111},
                                                                {1, 1, "+me", 0b0111'1111},
                                                                {1, 2, "", 0b0101'0101},
                                                                {2, 2, "", 0b0001'0101},
                                                                {3, 4, "", 0b0001'0001},
                                                                {4, 4, "", 0b0000'0001},
                                                                {7, 8, "", 0b0000'0001}});
constexpr CardGeometry kSevenSlices{8, kSevenSliceShapes};

// Sources: go-nvml a30.go; the MIG User Guide.
constexpr auto kFourSliceShapes = std::to_array<ProfileShape>({{1, 1, "", 0b1111},
                                                               {1, 1, "+me", 0b1111},
                                                               {2, 2, "", 0b0101},
                                                               {2, 2, "+me", 0b0101},
                                                               {4, 4, "", 0b0001}});
constexpr CardGeometry kFourSlices{4, kFourSliceShapes};

// Source: `nvidia-smi mig -lgipp` of an RTX PRO 6000 Server Edition.
constexpr auto kTwelveSliceShapes =
    std::to_array<ProfileShape>({{1, 3, "", 0b0010'0100'1001},
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
constexpr CardGeometry kTwelveSlices{12, kTwelveSliceShapes};

// Source: the MIG User Guide. It gives the number of slices of each profile, but no placements. So
// this table assumes two memory slices, each as large as the smallest profile.
constexpr auto kHalvesWithMediaShapes = std::to_array<ProfileShape>({{1, 1, "", 0b11},
                                                                     {1, 1, "+me", 0b11},
                                                                     {1, 1, "+gfx", 0b11},
                                                                     {1, 1, "+me.all", 0b11},
                                                                     {1, 1, "-me", 0b11},
                                                                     {2, 2, "", 0b01},
                                                                     {2, 2, "+gfx", 0b01}});
constexpr CardGeometry kHalvesWithMedia{2, kHalvesWithMediaShapes};
constexpr auto kHalvesShapes = std::to_array<ProfileShape>({{1, 1, "", 0b11},
                                                            {1, 1, "+gfx", 0b11},
                                                            {1, 1, "+me.all", 0b11},
                                                            {1, 1, "-me", 0b11},
                                                            {2, 2, "", 0b01},
                                                            {2, 2, "+gfx", 0b01}});
constexpr CardGeometry kHalves{2, kHalvesShapes};

/// The memory of the profiles of one size: the GB in their names, and the MiB that the driver
/// reports.
struct SizeMemory {
  int size;
  int gigabytes;
  int mib;
};

struct CardRow {
  std::string_view name;
  int mib;
  const CardGeometry* geometry;
  std::array<SizeMemory, 4> memory_by_size;  // ascending size; unused elements have size 0
};

// Source of the profile names: the MIG User Guide, or mig-parted for GH200-144GB, GB200, B300 and
// GB300. Source of the memory: the comment on each row. "Nominal memory" means that no output of
// nvidia-smi is known. A profile then has its proportional part of the card's memory; a real slice
// has slightly less.
constexpr auto kRows = std::to_array<CardRow>({
    // Memory: go-nvml a30.go.
    {"A30", 24'576, &kFourSlices, {{{1, 6, 5'836}, {2, 12, 11'672}, {4, 24, 23'344}}}},
    // Memory: `nvidia-smi mig -lgip`.
    {"A100-40GB",
     40'960,
     &kSevenSlices,
     {{{1, 5, 4'864}, {2, 10, 9'856}, {4, 20, 19'968}, {8, 40, 40'192}}}},
    // Memory: go-nvml a100.go.
    {"A100-80GB",
     81'920,
     &kSevenSlices,
     {{{1, 10, 9'856}, {2, 20, 19'968}, {4, 40, 40'192}, {8, 80, 80'384}}}},
    // Memory: `nvidia-smi mig -lgip` of SXM5.
    {"H100-80GB",
     81'920,
     &kSevenSlices,
     {{{1, 10, 9'984}, {2, 20, 20'096}, {4, 40, 40'448}, {8, 80, 81'152}}}},
    // Memory: `nvidia-smi mig -lgip` of H100 NVL.
    {"H100-94GB",
     96'256,
     &kSevenSlices,
     {{{1, 12, 11'008}, {2, 24, 22'144}, {4, 47, 47'488}, {8, 94, 95'360}}}},
    // Memory: for 1g, `nvidia-smi mig -lgip` of H20; for the other profiles, a multiple of 1g.
    {"H100-96GB",
     98'304,
     &kSevenSlices,
     {{{1, 12, 12'032}, {2, 24, 24'064}, {4, 48, 48'128}, {8, 96, 96'256}}}},
    // Memory: for 1g, 2g and 7g, a listing of unknown origin; for 3g and 4g, twice that of 2g.
    {"H200-141GB",
     144'384,
     &kSevenSlices,
     {{{1, 18, 16'384}, {2, 35, 33'280}, {4, 71, 66'560}, {8, 141, 143'360}}}},
    // Nominal memory.
    {"GH200-144GB",
     147'456,
     &kSevenSlices,
     {{{1, 18, 18'432}, {2, 36, 36'864}, {4, 72, 73'728}, {8, 144, 147'456}}}},
    // Memory: go-nvml b200.go. For 1g, nominal memory, because eight times the value in go-nvml
    // exceeds the memory of the card.
    {"B200",
     184'320,
     &kSevenSlices,
     {{{1, 23, 23'040}, {2, 45, 46'080}, {4, 90, 92'160}, {8, 180, 184'320}}}},
    // The memory is that in k8s-test-infra's gb200.yaml.
    {"GB200",
     190'464,
     &kSevenSlices,
     {{{1, 23, 23'808}, {2, 47, 47'616}, {4, 93, 95'232}, {8, 186, 190'464}}}},
    // Nominal memory.
    {"B300",
     275'456,
     &kSevenSlices,
     {{{1, 34, 34'432}, {2, 67, 68'864}, {4, 135, 137'728}, {8, 269, 275'456}}}},
    // Memory: k8s-test-infra gb300.yaml.
    {"GB300",
     284'672,
     &kSevenSlices,
     {{{1, 35, 35'584}, {2, 70, 71'168}, {4, 139, 142'336}, {8, 278, 284'672}}}},
    // Memory: `nvidia-smi mig -lgip` of an RTX PRO 6000 Server Edition.
    {"RTX-PRO-6000",
     98'304,
     &kTwelveSlices,
     {{{3, 24, 24'192}, {6, 48, 48'512}, {12, 96, 97'408}}}},
    // Nominal memory.
    {"RTX-PRO-5000", 49'152, &kHalvesWithMedia, {{{1, 24, 24'576}, {2, 48, 49'152}}}},
    // Nominal memory.
    {"RTX-PRO-4500", 32'768, &kHalves, {{{1, 16, 16'384}, {2, 32, 32'768}}}},
});

struct Alias {
  std::string_view card;
  std::string_view name;
  std::string_view alias;
};

// Second names of profiles. go-nvlib, and therefore HAMi and nos, round the memory of the A100 down
// to 79 GB. mig-parted has profile names for a GB200 with 186 GB and for one with 189 GB; the
// driver of a card accepts only the names for the memory of that card.
constexpr auto kAliases = std::to_array<Alias>({{"A100-80GB", "7g.80gb", "7g.79gb"},
                                                {"GB200", "3g.93gb", "3g.95gb"},
                                                {"GB200", "4g.93gb", "4g.95gb"},
                                                {"GB200", "7g.186gb", "7g.189gb"}});

constexpr const SizeMemory& size_memory_of(const CardRow& row, const ProfileShape& shape) {
  return *std::ranges::find(row.memory_by_size, shape.size, &SizeMemory::size);
}

/// Whether each profile of the row has an entry in `memory_by_size`, has at least one start, ends
/// within the memory slices of the card from each of its starts, and has at most its proportional
/// part of the memory of the card.
constexpr bool consistent(const CardRow& row) {
  return std::ranges::all_of(row.geometry->shapes, [&](const ProfileShape& shape) {
    const auto part = std::ranges::find(row.memory_by_size, shape.size, &SizeMemory::size);
    return part != row.memory_by_size.end() && shape.starts != 0 &&
           part->mib * row.geometry->memory_slices <= row.mib * shape.size &&
           (std::uint64_t{shape.starts} << (shape.size - 1)) >> row.geometry->memory_slices == 0;
  });
}
static_assert(std::ranges::all_of(kRows, consistent));

std::string alias_of(std::string_view card, std::string_view profile) {
  const auto profile_alias = std::ranges::find_if(
      kAliases, [&](const Alias& alias) { return alias.card == card && alias.name == profile; });
  return profile_alias == kAliases.end() ? "" : std::string(profile_alias->alias);
}

model::MigProfile build_profile(const CardRow& row, const ProfileShape& shape) {
  const SizeMemory& part = size_memory_of(row, shape);
  model::MigProfile profile{.name = std::to_string(shape.compute) + "g." +
                                    std::to_string(part.gigabytes) + "gb" +
                                    std::string(shape.attribute),
                            .size = shape.size,
                            .memory{part.mib}};
  profile.alias = alias_of(row.name, profile.name);
  for (int start = 0; start < row.geometry->memory_slices; ++start) {
    if ((shape.starts >> start & 1) != 0) profile.starts.push_back(start);
  }
  return profile;
}

std::vector<MigCard> build_cards() {
  std::vector<MigCard> cards;
  for (const CardRow& row : kRows) {
    std::vector<model::MigProfile> profiles;
    for (const ProfileShape& shape : row.geometry->shapes)
      profiles.push_back(build_profile(row, shape));
    model::MigTablePtr table = build_mig_table(std::move(profiles));
    SNUG_CHECK(table != nullptr && table->memory_slices == row.geometry->memory_slices);
    cards.push_back({std::string(row.name), {row.mib}, std::move(table)});
  }
  return cards;
}

}  // namespace

std::span<const MigCard> mig_cards() {
  static const std::vector<MigCard> cards = build_cards();
  return cards;
}

}  // namespace snug::mig
