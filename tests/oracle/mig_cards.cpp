#include "oracle/mig_cards.hpp"

#include <algorithm>

namespace snug {

namespace {

const std::vector<int> kSevenths{0, 1, 2, 3, 4, 5, 6};
const std::vector<int> kThirds{0, 3, 6, 9};
const std::vector<int> kHalves{0, 6};

LiteralCard a100() {
  return {.model = "NVIDIA-A100-SXM4-40GB",
          .memory = 40'960,
          .axis = 8,
          .compute = 7,
          .profiles = {{"1g.5gb", 1, 1, 4'864, kSevenths},
                       {"1g.5gb+me", 1, 1, 4'864, kSevenths, 0, 1},
                       {"1g.10gb", 1, 2, 9'856, {0, 2, 4, 6}},
                       {"2g.10gb", 2, 2, 9'856, {0, 2, 4}},
                       {"3g.20gb", 3, 4, 19'968, {0, 4}},
                       {"4g.20gb", 4, 4, 19'968, {0}},
                       {"7g.40gb", 7, 8, 40'192, {0}}}};
}

LiteralCard a30() {
  return {.model = "NVIDIA-A30",
          .memory = 24'576,
          .axis = 4,
          .compute = 4,
          .profiles = {{"1g.6gb", 1, 1, 5'836, {0, 1, 2, 3}},
                       {"1g.6gb+me", 1, 1, 5'836, {0, 1, 2, 3}, 0, 1},
                       {"2g.12gb", 2, 2, 11'672, {0, 2}},
                       {"2g.12gb+me", 2, 2, 11'672, {0, 2}, 0, 1},
                       {"4g.24gb", 4, 4, 23'344, {0}}}};
}

LiteralCard rtx() {
  return {.model = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
          .memory = 98'304,
          .axis = 12,
          .compute = 4,
          .media = 4,
          .profiles = {{"1g.24gb", 1, 3, 24'192, kThirds, 1, 0},
                       {"1g.24gb+me", 1, 3, 24'192, kThirds, 1, 1},
                       {"1g.24gb+gfx", 1, 3, 24'192, kThirds, 1, 0},
                       {"1g.24gb+me.all", 1, 3, 24'192, kThirds, 4, 1},
                       {"1g.24gb-me", 1, 3, 24'192, kThirds, 0, 0},
                       {"2g.48gb", 2, 6, 48'512, kHalves, 2, 0},
                       {"2g.48gb+gfx", 2, 6, 48'512, kHalves, 2, 0},
                       {"2g.48gb+me.all", 2, 6, 48'512, kHalves, 4, 1},
                       {"2g.48gb-me", 2, 6, 48'512, kHalves, 0, 0},
                       {"4g.96gb", 4, 12, 97'408, {0}, 4, 0},
                       {"4g.96gb+gfx", 4, 12, 97'408, {0}, 4, 0}}};
}

/// With less memory than the known table says, and fewer profiles.
LiteralCard published_rtx() {
  return {.model = "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
          .memory = 97'887,
          .axis = 12,
          .compute = 4,
          .media = 4,
          .published = true,
          .profiles = {{"1g.24gb", 1, 3, 24'000, kThirds, 1, 0},
                       {"1g.24gb+me", 1, 3, 24'000, kThirds, 1, 1},
                       {"1g.24gb+me.all", 1, 3, 24'000, kThirds, 4, 1},
                       {"1g.24gb-me", 1, 3, 24'000, kThirds, 0, 0},
                       {"2g.48gb", 2, 6, 48'128, kHalves, 2, 0},
                       {"2g.48gb-me", 2, 6, 48'128, kHalves, 0, 0},
                       {"4g.96gb", 4, 12, 97'000, {0}, 4, 0}}};
}

/// As no card is: starts that overlap, and more compute in less memory.
LiteralCard odd_t4() {
  return {.model = "Tesla-T4",
          .memory = 16'384,
          .axis = 5,
          .compute = 5,
          .media = 5,
          .published = true,
          .profiles = {{"5g.16gb", 5, 5, 16'000, {0}, 5, 0},
                       {"1g.3gb-me", 1, 1, 3'000, {0, 1, 2, 3, 4}, 0, 0},
                       {"1g.3gb", 1, 1, 3'000, {1, 2, 4}, 1, 0},
                       {"3g.6gb", 3, 2, 6'000, {0, 1, 2}, 3, 0},
                       {"2g.6gb+me", 2, 2, 6'100, {0, 3}, 2, 1},
                       {"2g.9gb", 2, 3, 9'000, {0, 2}, 2, 0}}};
}

}  // namespace

const std::vector<LiteralCard>& literal_cards() {
  static const std::vector<LiteralCard> kCards{a100(), a30(), rtx(), odd_t4(), published_rtx()};
  return kCards;
}

const LiteralCard* card_of(const model::GpuInfo& gpu) {
  if (!gpu.mig_enabled || !gpu.mig_table) return nullptr;
  const auto& cards = literal_cards();
  const auto found = std::ranges::find_if(cards, [&](const LiteralCard& card) {
    return std::ranges::equal(card.profiles, gpu.mig_table->profiles, {}, &LiteralProfile::name,
                              &model::MigProfile::name);
  });
  return found == cards.end() ? nullptr : &*found;
}

const LiteralProfile* LiteralCard::find(std::string_view name) const {
  const auto found = std::ranges::find(profiles, name, &LiteralProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

const LiteralProfile* LiteralCard::find(const model::Slice& slice) const {
  const LiteralProfile* profile = find(slice.profile);
  const bool legal = profile != nullptr && profile->size == slice.size &&
                     std::ranges::count(profile->starts, slice.start) > 0;
  return legal ? profile : nullptr;
}

bool SliceUse::room_for(const LiteralCard& card, const LiteralProfile& profile, int start) const {
  return (taken & model::axis_range(start, profile.size)) == 0 &&
         media + profile.media <= card.media && extension + profile.extension <= 1;
}

void SliceUse::add(const LiteralProfile& profile, int start) {
  taken |= model::axis_range(start, profile.size);
  media += profile.media;
  extension += profile.extension;
}

}  // namespace snug
