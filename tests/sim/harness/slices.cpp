#include "sim/harness/slices.hpp"

#include <algorithm>
#include <tuple>

#include "sim/harness/objects.hpp"
#include "sim/harness/plain_ask.hpp"

namespace snug {
namespace {

const std::vector<int> kAnySeventh{0, 1, 2, 3, 4, 5, 6};
const std::vector<int> kThirds{0, 3, 6, 9};
const std::vector<int> kHalves{0, 6};

PlainCard plain_a100() {
  return {.model = "NVIDIA-A100-SXM4-40GB",
          .memory = 40'960,
          .axis = 8,
          .compute = 7,
          .profiles = {{"1g.5gb", 1, 1, 4'864, kAnySeventh},
                       {"1g.5gb+me", 1, 1, 4'864, kAnySeventh, 0, 1},
                       {"1g.10gb", 1, 2, 9'856, {0, 2, 4, 6}},
                       {"2g.10gb", 2, 2, 9'856, {0, 2, 4}},
                       {"3g.20gb", 3, 4, 19'968, {0, 4}},
                       {"4g.20gb", 4, 4, 19'968, {0}},
                       {"7g.40gb", 7, 8, 40'192, {0}}}};
}

PlainCard plain_a30() {
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

/// Its profiles have less memory than in the built-in table.
PlainCard plain_rtx() {
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

}  // namespace

const std::vector<PlainCard>& plain_cards() {
  static const std::vector<PlainCard> kCards{plain_a100(), plain_a30(), plain_rtx()};
  return kCards;
}

const PlainProfile* PlainCard::find(std::string_view name) const {
  const auto found = std::ranges::find(profiles, name, &PlainProfile::name);
  return found == profiles.end() ? nullptr : &*found;
}

bool PlainCard::legal(const PlainSlice& slice) const {
  const PlainProfile* profile = find(slice.profile);
  return profile != nullptr && profile->size == slice.size &&
         std::ranges::find(profile->starts, slice.start) != profile->starts.end();
}

Amounts PlainCard::cost(const PlainProfile& profile) const {
  return {profile.memory, 1000 * profile.compute / compute};
}

const PlainCard* card_of(const SimGpu& gpu) {
  if (!gpu.mig) return nullptr;
  const auto found = std::ranges::find(plain_cards(), gpu.model, &PlainCard::model);
  return found == plain_cards().end() ? nullptr : &*found;
}

const PlainCard* card_with(std::string_view profile) {
  const auto found = std::ranges::find_if(
      plain_cards(), [&](const PlainCard& card) { return card.find(profile) != nullptr; });
  return found == plain_cards().end() ? nullptr : &*found;
}

bool SliceUse::room_for(const PlainCard& card, const PlainSlice& slice) const {
  const PlainProfile& profile = *card.find(slice.profile);
  const bool media_left = card.media == 0 || media + profile.media <= card.media;
  return (taken & slice.range()) == 0 && media_left && extension + profile.extension <= 1;
}

void SliceUse::add(const PlainCard& card, const PlainSlice& slice) {
  const PlainProfile& profile = *card.find(slice.profile);
  taken |= slice.range();
  media += profile.media;
  extension += profile.extension;
}

bool satisfies(const PlainCard& card, const PlainProfile& profile, const PlainContainer& ask) {
  using Kind = PlainContainer::Kind;
  if (100 * profile.compute < ask.percent * card.compute) return false;
  if (ask.kind == Kind::kSlice) return profile.name == ask.profile;
  if (!profile.plain() || ask.whole()) return false;
  if (ask.kind == Kind::kMemory) return profile.memory >= ask.amount;
  return 1000 * profile.size >= ask.amount * card.axis;
}

const PlainProfile* smallest(const SimGpu& gpu, bool dynamic, const PlainContainer& ask) {
  const PlainCard& card = *card_of(gpu);
  const PlainProfile* best = nullptr;
  for (const PlainProfile& profile : card.profiles) {
    const bool there = dynamic || std::ranges::any_of(gpu.instances, [&](const PlainSlice& slice) {
                         return slice.profile == profile.name;
                       });
    if (!there || !satisfies(card, profile, ask)) continue;
    if (best == nullptr ||
        std::pair(profile.size, profile.compute) < std::pair(best->size, best->compute)) {
      best = &profile;
    }
  }
  return best;
}

std::vector<SliceWant> slice_wants(const SimGpu& gpu, bool dynamic,
                                   const std::vector<const PlainContainer*>& asks) {
  std::vector<SliceWant> wants;
  std::vector<std::size_t> inits;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const PlainProfile* profile = smallest(gpu, dynamic, *asks[i]);
    if (profile == nullptr) return {};
    wants.push_back({asks[i], profile, i});
    (asks[i]->runs == model::ContainerType::kInit ? inits : owners).push_back(i);
  }
  const auto position = [&](std::size_t i) { return asks[i]->position; };
  std::ranges::sort(owners, {}, position);
  std::ranges::sort(inits, {}, position);
  std::ranges::stable_sort(inits, {}, [&](std::size_t i) {
    return std::pair(-wants[i].profile->size, -wants[i].profile->compute);
  });
  for (const std::size_t init : inits) {
    const auto owner = std::ranges::find_if(owners, [&](std::size_t other) {
      return asks[other]->runs != model::ContainerType::kSidecar &&
             satisfies(*card_of(gpu), *wants[other].profile, *asks[init]);
    });
    if (owner == owners.end()) {
      owners.push_back(init);
    } else {
      wants[init].owner = *owner;
    }
  }
  return wants;
}

namespace {

class Places {
 public:
  Places(const SimGpu& gpu, bool dynamic, const std::vector<SliceWant>& wants,
         const std::function<bool(const std::vector<PlainSlice>&)>& visit)
      : gpu_(gpu), card_(*card_of(gpu)), dynamic_(dynamic), wants_(wants), visit_(visit) {
    slices_.resize(wants.size());
    for (std::size_t i = 0; i < wants.size(); ++i) {
      if (wants[i].owner == i) own_.push_back(i);
    }
    // The largest slices come first, and slices of one profile follow each other.
    std::ranges::stable_sort(own_, {}, [&](std::size_t i) {
      return std::pair(-wants[i].profile->size, wants[i].profile->name);
    });
  }

  /// Places the wants from position `at` on. A want of the same profile as the one before it starts
  /// behind it, so that each set of places is tried once.
  bool from(std::size_t at, const SliceUse& use) {
    if (at == own_.size()) return complete();
    const PlainProfile& profile = *wants_[own_[at]].profile;
    const bool again = at > 0 && wants_[own_[at - 1]].profile == &profile;
    for (const int start : profile.starts) {
      PlainSlice slice{profile.name, start, profile.size, {}};
      if (again && start <= slices_[own_[at - 1]].start) continue;
      const auto there = std::ranges::find_if(
          gpu_.instances, [&](const PlainSlice& s) { return s.same_place(slice); });
      if (there != gpu_.instances.end()) slice.uuid = there->uuid;
      if ((!dynamic_ && there == gpu_.instances.end()) || !use.room_for(card_, slice)) continue;
      SliceUse with = use;
      with.add(card_, slice);
      slices_[own_[at]] = slice;
      if (from(at + 1, with)) return true;
    }
    return false;
  }

 private:
  bool complete() {
    std::vector<PlainSlice> all = slices_;
    for (std::size_t i = 0; i < wants_.size(); ++i) all[i] = slices_[wants_[i].owner];
    return visit_(all);
  }

  const SimGpu& gpu_;
  const PlainCard& card_;
  bool dynamic_;
  const std::vector<SliceWant>& wants_;
  const std::function<bool(const std::vector<PlainSlice>&)>& visit_;
  std::vector<std::size_t> own_;  // positions of the wants with a slice of their own
  std::vector<PlainSlice> slices_;
};

}  // namespace

bool any_places(const SimGpu& gpu, bool dynamic, const SliceUse& use,
                const std::vector<SliceWant>& wants,
                const std::function<bool(const std::vector<PlainSlice>&)>& visit) {
  if (wants.empty()) return false;
  return Places(gpu, dynamic, wants, visit).from(0, use);
}

}  // namespace snug
