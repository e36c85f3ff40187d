#include "mig_oracle.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <variant>

namespace snug {
namespace {

bool is_init(model::ContainerType kind) { return kind == model::ContainerType::kInit; }

bool plain(const LiteralProfile& profile) {
  return profile.name.find_first_of("+-") == std::string::npos;
}

}  // namespace

const std::vector<LiteralCard>& literal_cards() {
  static const std::vector<LiteralCard> cards = {
      {"NVIDIA-A100-SXM4-40GB",
       40960,
       8,
       7,
       0,
       false,
       {{"1g.5gb", 1, 1, 4864, {0, 1, 2, 3, 4, 5, 6}, 0, 0},
        {"1g.5gb+me", 1, 1, 4864, {0, 1, 2, 3, 4, 5, 6}, 0, 1},
        {"1g.10gb", 1, 2, 9856, {0, 2, 4, 6}, 0, 0},
        {"2g.10gb", 2, 2, 9856, {0, 2, 4}, 0, 0},
        {"3g.20gb", 3, 4, 19968, {0, 4}, 0, 0},
        {"4g.20gb", 4, 4, 19968, {0}, 0, 0},
        {"7g.40gb", 7, 8, 40192, {0}, 0, 0}}},
      {"NVIDIA-A30",
       24576,
       4,
       4,
       0,
       false,
       {{"1g.6gb", 1, 1, 5836, {0, 1, 2, 3}, 0, 0},
        {"1g.6gb+me", 1, 1, 5836, {0, 1, 2, 3}, 0, 1},
        {"2g.12gb", 2, 2, 11672, {0, 2}, 0, 0},
        {"2g.12gb+me", 2, 2, 11672, {0, 2}, 0, 1},
        {"4g.24gb", 4, 4, 23344, {0}, 0, 0}}},
      {"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition",
       98304,
       12,
       4,
       4,
       false,
       {{"1g.24gb", 1, 3, 24192, {0, 3, 6, 9}, 1, 0},
        {"1g.24gb+me", 1, 3, 24192, {0, 3, 6, 9}, 1, 1},
        {"1g.24gb+gfx", 1, 3, 24192, {0, 3, 6, 9}, 1, 0},
        {"1g.24gb+me.all", 1, 3, 24192, {0, 3, 6, 9}, 4, 1},
        {"1g.24gb-me", 1, 3, 24192, {0, 3, 6, 9}, 0, 0},
        {"2g.48gb", 2, 6, 48512, {0, 6}, 2, 0},
        {"2g.48gb+gfx", 2, 6, 48512, {0, 6}, 2, 0},
        {"2g.48gb+me.all", 2, 6, 48512, {0, 6}, 4, 1},
        {"2g.48gb-me", 2, 6, 48512, {0, 6}, 0, 0},
        {"4g.96gb", 4, 12, 97408, {0}, 4, 0},
        {"4g.96gb+gfx", 4, 12, 97408, {0}, 4, 0}}},
      // As no card is: starts that overlap, and more compute in less memory.
      {"Tesla-T4",
       16384,
       5,
       5,
       5,
       true,
       {{"5g.16gb", 5, 5, 16000, {0}, 5, 0},
        {"1g.3gb-me", 1, 1, 3000, {0, 1, 2, 3, 4}, 0, 0},
        {"1g.3gb", 1, 1, 3000, {1, 2, 4}, 1, 0},
        {"3g.6gb", 3, 2, 6000, {0, 1, 2}, 3, 0},
        {"2g.6gb+me", 2, 2, 6100, {0, 3}, 2, 1},
        {"2g.9gb", 2, 3, 9000, {0, 2}, 2, 0}}}};
  return cards;
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

MigOracle::MigOracle(const LiteralCard& card, const model::GpuInfo& gpu,
                     const model::NodeInventory& node)
    : card_(&card), dynamic_(node.dynamic_mig), failed_(gpu.failed_memory_slices) {
  for (const model::Slice& slice : gpu.mig_instances) {
    const bool plugin = node.plugin_owns_all_slices || node.plugin_profiles.contains(slice.profile);
    listed_.push_back(slice);
    if (plugin) offered_.push_back(slice);
  }
  held_.cells.resize(static_cast<std::size_t>(card.axis));
}

const LiteralProfile* MigOracle::find(const model::Slice& slice) const {
  for (const LiteralProfile& profile : card_->profiles) {
    const bool same = profile.name == slice.profile && profile.size == slice.size;
    if (same && std::ranges::count(profile.starts, slice.start) > 0) return &profile;
  }
  return nullptr;
}

/// And not the device plug-in's.
bool MigOracle::listed(const LiteralProfile& profile, int start) const {
  return std::ranges::any_of(listed_, [&](const model::Slice& slice) {
    return find(slice) == &profile && slice.start == start &&
           std::ranges::count(offered_, slice) == 0;
  });
}

bool MigOracle::has(Profile profile, View view) const {
  if (dynamic_ || view < View::kOffered) return true;
  const LiteralProfile& of = card_->profiles[profile];
  return std::ranges::any_of(of.starts, [&](int start) { return listed(of, start); });
}

bool MigOracle::serves(const LiteralProfile& profile, const model::ContainerRequest& asked,
                       std::int64_t memory_off) const {
  const int percent = asked.compute_percent.value_or(0);
  const int compute = (percent * card_->compute + 99) / 100;
  if (profile.compute < compute) return false;
  if (const auto* named = std::get_if<model::SliceRequest>(&asked.device))
    return named->profile == profile.name;
  if (!plain(profile)) return false;
  if (const auto* memory = std::get_if<model::MemoryRequest>(&asked.device)) {
    return profile.memory >= memory->memory.value - memory_off;
  }
  const auto* fraction = std::get_if<model::FractionRequest>(&asked.device);
  return fraction != nullptr && profile.size * 1000 >= fraction->thousandths * card_->axis;
}

std::optional<MigOracle::Profile> MigOracle::smallest(const model::ContainerRequest& asked,
                                                      View view) const {
  std::optional<std::tuple<int, int, Profile>> best;
  for (Profile i = 0; i < card_->profiles.size(); ++i) {
    const LiteralProfile& profile = card_->profiles[i];
    if (!has(i, view) || !serves(profile, asked)) continue;
    const std::tuple candidate(profile.size, profile.compute, i);
    if (!best || candidate < *best) best = candidate;
  }
  if (!best) return std::nullopt;
  return std::get<2>(*best);
}

std::optional<bool> MigOracle::offers_profile(const model::ContainerRequest& asked) const {
  bool any = false;
  for (Profile i = 0; i < card_->profiles.size(); ++i) any = any || has(i, View::kOffered);
  if (!any) return std::nullopt;
  return smallest(asked, View::kOffered).has_value();
}

void MigOracle::add(Use& use, const LiteralProfile& profile, int start) {
  for (int cell = start; cell < start + profile.size; ++cell) {
    ++use.cells.at(static_cast<std::size_t>(cell));
  }
  use.media += profile.media;
  use.extension += profile.extension;
}

bool MigOracle::possible(const Use& use) const {
  return std::ranges::none_of(use.cells, [](int cell) { return cell > 1; }) && use.extension <= 1 &&
         use.media <= card_->media;
}

bool MigOracle::hold(std::span<const Held> slices) {
  bool good = true;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const model::ReservedDevice& device = *slices[i].device;
    if (!device.slice) {
      good = false;
      continue;
    }
    const model::Slice& slice = *device.slice;
    const LiteralProfile* const profile = find(slice);
    if (profile == nullptr) {
      const bool inside = slice.start + slice.size <= card_->axis;
      const int begin = inside ? slice.start : 0;
      const int end = inside ? slice.start + slice.size : card_->axis;
      for (int cell = begin; cell < end; ++cell) ++held_.cells[static_cast<std::size_t>(cell)];
      good = false;
      continue;
    }
    const model::ContainerRequest* const asked = slices[i].asked;
    const auto* memory =
        asked == nullptr ? nullptr : std::get_if<model::MemoryRequest>(&asked->device);
    const std::int64_t off = memory == nullptr ? 0 : memory->memory.value / 8;
    good = good && (asked == nullptr || serves(*profile, *asked, off));
    good = good && device.compute.value == compute_of(*profile) &&
           std::abs(device.memory.value - profile->memory) <= profile->memory / 8;
    const bool exists = std::ranges::any_of(listed_, [&](const model::Slice& known) {
      const bool same = known.profile == slice.profile && known.start == slice.start;
      return same && (known.uuid.empty() || slice.uuid.empty() || known.uuid == slice.uuid);
    });
    good = good && (dynamic_ || exists);
    bool again = false;
    for (std::size_t other = 0; other < i; ++other) {
      const auto& theirs = slices[other].device->slice;
      if (!theirs || find(*theirs) != profile || theirs->start != slice.start) continue;
      again = true;
      good = good && (is_init(slices[i].kind) || is_init(slices[other].kind)) &&
             slices[i].kind != model::ContainerType::kSidecar &&
             slices[other].kind != model::ContainerType::kSidecar;
    }
    if (!again) add(held_, *profile, slice.start);
  }
  return good && possible(held_);
}

MigOracle::Use MigOracle::taken(View view) const {
  Use use;
  use.cells.resize(held_.cells.size());
  if (view >= View::kFree) use = held_;
  if (view >= View::kOffered) {
    for (const model::Slice& slice : offered_) {
      if (slice.start + slice.size > card_->axis) continue;
      for (int cell = slice.start; cell < slice.start + slice.size; ++cell) {
        use.cells[static_cast<std::size_t>(cell)] = 1;
      }
    }
  }
  for (std::size_t cell = 0; cell < use.cells.size() && view >= View::kSound; ++cell) {
    if ((failed_ >> cell & 1U) != 0) use.cells[cell] = 1;
  }
  return use;
}

bool MigOracle::offers(const LiteralProfile& profile, int start, View view) const {
  return dynamic_ || view < View::kOffered || listed(profile, start);
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are containers
bool MigOracle::together(const Use& use, std::vector<Profile> rest, View view) const {
  if (rest.empty()) return true;
  const LiteralProfile& profile = card_->profiles[rest.back()];
  rest.pop_back();
  return std::ranges::any_of(profile.starts, [&](int start) {
    if (!offers(profile, start, view)) return false;
    Use with = use;
    add(with, profile, start);
    return possible(with) && together(with, rest, view);
  });
}

/// A plain init container has an app's slice that serves it, the first of the largest; else that of
/// an init container that needs more, or as much and comes before it.
bool MigOracle::share_out(const std::vector<User>& users, View view,
                          std::vector<std::size_t>& owners,
                          std::vector<std::optional<Profile>>& profiles) const {
  owners.resize(users.size());
  std::iota(owners.begin(), owners.end(), 0U);
  for (const User& user : users) {
    profiles.push_back(smallest(*user.asked, view));
    const bool in_vain =
        view < View::kOffered && std::holds_alternative<model::SliceRequest>(user.asked->device);
    if (!profiles.back() && !in_vain) return false;
  }
  const auto rank = [&](std::size_t i) {
    const LiteralProfile& profile = card_->profiles[*profiles[i]];
    return std::tuple(is_init(users[i].asked->type), -profile.size, -profile.compute,
                      users[i].position);
  };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < users.size(); ++i) {
    if (profiles[i]) order.push_back(i);
  }
  std::ranges::sort(order, {}, rank);
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::size_t user = order[n];
    if (!is_init(users[user].asked->type)) continue;
    for (std::size_t before = 0; before < n && owners[user] == user; ++before) {
      const std::size_t owner = order[before];
      const bool own = owners[owner] == owner;
      const bool sidecar = users[owner].asked->type == model::ContainerType::kSidecar;
      if (own && !sidecar && serves(card_->profiles[*profiles[owner]], *users[user].asked)) {
        owners[user] = owner;
        profiles[user] = profiles[owner];
      }
    }
  }
  return true;
}

std::optional<std::vector<std::int64_t>> MigOracle::prices(const std::vector<User>& users,
                                                           View view) const {
  std::vector<std::size_t> owners;
  std::vector<std::optional<Profile>> profiles;
  if (!share_out(users, view, owners, profiles)) return std::nullopt;
  std::vector<Profile> own;
  std::vector<std::int64_t> prices;
  for (std::size_t i = 0; i < users.size(); ++i) {
    prices.push_back(profiles[i] ? compute_of(card_->profiles[*profiles[i]]) : 0);
    if (owners[i] == i && profiles[i]) own.push_back(*profiles[i]);
  }
  if (!together(taken(view), std::move(own), view)) return std::nullopt;
  return prices;
}

bool MigOracle::accepts(const std::vector<User>& users) const {
  std::vector<std::size_t> owners;
  std::vector<std::optional<Profile>> profiles;
  if (!share_out(users, View::kFree, owners, profiles)) return false;
  Use use = taken(View::kFree);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const model::DeviceAllocation& allocation = *users[i].take;
    const LiteralProfile& profile = card_->profiles.at(allocation.slice.profile);
    const bool shared = owners[i] != i;
    if (allocation.mode != model::GpuMode::kMig || !serves(profile, *users[i].asked)) return false;
    if (!shared && allocation.slice.profile != *profiles[i]) return false;
    if (shared) {
      const bool known = std::ranges::any_of(users, [&](const User& other) {
        const auto at = static_cast<std::size_t>(&other - users.data());
        return owners[at] == at && other.asked->type != model::ContainerType::kSidecar &&
               other.take->slice == allocation.slice;
      });
      if (!known) return false;
    } else {
      if (std::ranges::count(profile.starts, allocation.slice.start) == 0) return false;
      if (!offers(profile, allocation.slice.start, View::kFree)) return false;
      add(use, profile, allocation.slice.start);
    }
    if (allocation.memory.value != profile.memory ||
        allocation.compute.value != compute_of(profile)) {
      return false;
    }
  }
  return possible(use);
}

std::size_t MigOracle::starts_for(const model::ContainerRequest& asked) const {
  const std::optional<Profile> profile = smallest(asked, View::kFree);
  if (!profile) return 0;
  const LiteralProfile& of = card_->profiles[*profile];
  return static_cast<std::size_t>(std::ranges::count_if(of.starts, [&](int start) {
    if (!offers(of, start, View::kFree)) return false;
    Use use = taken(View::kFree);
    add(use, of, start);
    return possible(use);
  }));
}

}  // namespace snug
