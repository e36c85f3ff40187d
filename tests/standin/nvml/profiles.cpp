#include <map>

#include "standin/nvml/state.hpp"

namespace standin {
namespace {

using enum abi::GpuProfile;
using Starts = std::vector<unsigned>;

/// The memory in MiB and the names of the profiles of a card with seven compute slices.
struct SevenSlices {
  unsigned long long one, two, four, eight;
  std::string_view name_1, name_1_media, name_1_double, name_2, name_3, name_4, name_7;
};

std::vector<Profile> seven_slices(const SevenSlices& card) {
  const Starts each{0, 1, 2, 3, 4, 5, 6};
  return {{k1, 19, 1, 1, card.one, 7, each, card.name_1},
          {k1Media, 20, 1, 1, card.one, 1, each, card.name_1_media},
          {k1DoubleMemory, 15, 1, 2, card.two, 4, {0, 2, 4, 6}, card.name_1_double},
          {k2, 14, 2, 2, card.two, 3, {0, 2, 4}, card.name_2},
          {k3, 9, 3, 4, card.four, 2, {0, 4}, card.name_3},
          {k4, 5, 4, 4, card.four, 1, {0}, card.name_4},
          {k7, 0, 7, 8, card.eight, 1, {0}, card.name_7}};
}

/// An A100 whose driver has a profile of a number that nvml_abi.hpp does not know.
std::vector<Profile> with_new_profile(std::vector<Profile> profiles) {
  profiles.insert(profiles.begin(), {static_cast<abi::GpuProfile>(abi::kGpuProfiles),
                                     99,
                                     2,
                                     2,
                                     9856,
                                     3,
                                     {0, 2, 4},
                                     "MIG 2g.10gb+new"});
  return profiles;
}

/// Four engines for media, which the profiles share, and 12 memory slices.
std::vector<Profile> rtx_pro_6000() {
  const Starts quarters{0, 3, 6, 9};
  const Starts halves{0, 6};
  return {{k1, 14, 1, 3, 24192, 4, quarters, "MIG 1g.24gb", 1},
          {k1Media, 21, 1, 3, 24192, 1, quarters, "MIG 1g.24gb+me", 1},
          {k1Graphics, 47, 1, 3, 24192, 4, quarters, "MIG 1g.24gb+gfx", 1},
          {k1AllMedia, 65, 1, 3, 24192, 1, quarters, "MIG 1g.24gb+me.all", 4},
          {k1NoMedia, 67, 1, 3, 24192, 4, quarters, "MIG 1g.24gb-me"},
          {k2, 5, 2, 6, 48517, 2, halves, "MIG 2g.48gb", 2},
          {k2Graphics, 35, 2, 6, 48517, 2, halves, "MIG 2g.48gb+gfx", 2},
          {k2AllMedia, 64, 2, 6, 48517, 1, halves, "MIG 2g.48gb+me.all", 4},
          {k2NoMedia, 66, 2, 6, 48517, 2, halves, "MIG 2g.48gb-me"},
          {k4Graphics, 32, 4, 12, 97403, 1, {0}, "MIG 4g.96gb+gfx", 4},
          {k4, 0, 4, 12, 97403, 1, {0}, "MIG 4g.96gb", 4}};
}

std::map<std::string, std::vector<Profile>, std::less<>> make_tables() {
  const std::vector<Profile> a100 =
      seven_slices({4864, 9856, 19968, 40192, "MIG 1g.5gb", "MIG 1g.5gb+me", "MIG 1g.10gb",
                    "MIG 2g.10gb", "MIG 3g.20gb", "MIG 4g.20gb", "MIG 7g.40gb"});
  return {{"A100-40GB", a100},
          {"A100-40GB-new", with_new_profile(a100)},
          {"H100-80GB",
           seven_slices({9984, 20096, 40448, 81152, "MIG 1g.10gb", "MIG 1g.10gb+me", "MIG 1g.20gb",
                         "MIG 2g.20gb", "MIG 3g.40gb", "MIG 4g.40gb", "MIG 7g.80gb"})},
          // Memory: proportional to the card, whose listing is not known.
          {"B200", seven_slices({22400, 44800, 89600, 179200, "MIG 1g.23gb", "MIG 1g.23gb+me",
                                 "MIG 1g.45gb", "MIG 2g.45gb", "MIG 3g.90gb", "MIG 4g.90gb",
                                 "MIG 7g.180gb"})},
          {"RTX-PRO-6000", rtx_pro_6000()},
          {"A30",
           {{k1, 14, 1, 1, 5836, 4, {0, 1, 2, 3}, "MIG 1g.6gb"},
            {k1Media, 21, 1, 1, 5836, 1, {0, 1, 2, 3}, "MIG 1g.6gb+me"},
            {k2, 5, 2, 2, 11672, 2, {0, 2}, "MIG 2g.12gb"},
            {k2Media, 6, 2, 2, 11672, 1, {0, 2}, "MIG 2g.12gb+me"},
            {k4, 0, 4, 4, 23344, 1, {0}, "MIG 4g.24gb"}}}};
}

}  // namespace

const std::vector<Profile>& profiles_of(const Json& card) {
  static const std::vector<Profile> none;
  static const auto tables = make_tables();
  const Json table = card.value("table", Json());
  const auto found = table.is_string() ? tables.find(table.get<std::string>()) : tables.end();
  return found == tables.end() ? none : found->second;
}

}  // namespace standin
