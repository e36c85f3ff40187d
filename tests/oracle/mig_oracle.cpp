#include "oracle/mig_oracle.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <variant>

namespace snug {
namespace {

bool is_init(model::ContainerType kind) { return kind == model::ContainerType::kInit; }

}  // namespace

MigOracle::MigOracle(const LiteralCard& card, const model::GpuInfo& gpu,
                     const model::NodeInventory& node)
    : card_(&card),
      dynamic_(node.dynamic_mig),
      gives_none_(node.other_enforcer.has_value()),
      failed_(gpu.failed_memory_slices) {
  for (const model::Slice& slice : gpu.mig_instances) {
    const bool plugin = node.plugin_owns_all_slices || node.plugin_profiles.contains(slice.profile);
    listed_.push_back(slice);
    if (plugin) offered_.push_back(slice);
  }
}

/// And not the device plug-in's.
bool MigOracle::listed(const LiteralProfile& profile, int start) const {
  return std::ranges::any_of(listed_, [&](const model::Slice& slice) {
    return card_->find(slice) == &profile && slice.start == start &&
           std::ranges::count(offered_, slice) == 0;
  });
}

bool MigOracle::has(Profile profile, View view) const {
  if (view < View::kOffered) return true;
  if (gives_none_ || dynamic_) return !gives_none_;
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
  if (!profile.plain()) return false;
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

bool MigOracle::hold(std::span<const Held> slices) {
  bool good = true;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const model::ReservedDevice& device = *slices[i].device;
    if (!device.slice) {
      good = false;
      continue;
    }
    const model::Slice& slice = *device.slice;
    const LiteralProfile* const profile = card_->find(slice);
    if (profile == nullptr) {
      const bool inside = slice.start + slice.size <= card_->axis;
      held_.taken |=
          inside ? model::axis_range(slice.start, slice.size) : model::axis_range(0, card_->axis);
      good = false;
      continue;
    }
    const model::ContainerRequest* const asked = slices[i].asked;
    const auto* memory =
        asked == nullptr ? nullptr : std::get_if<model::MemoryRequest>(&asked->device);
    const std::int64_t off = memory == nullptr ? 0 : memory->memory.value / 8;
    good = good && (asked == nullptr || serves(*profile, *asked, off));
    good = good && device.compute.value == card_->cost(*profile).compute &&
           std::abs(device.memory.value - profile->memory) <= profile->memory / 8;
    const bool exists = std::ranges::any_of(listed_, [&](const model::Slice& known) {
      const bool same = known.profile == slice.profile && known.start == slice.start;
      return same && (known.uuid.empty() || slice.uuid.empty() || known.uuid == slice.uuid);
    });
    good = good && (dynamic_ || exists);
    bool again = false;
    for (std::size_t other = 0; other < i; ++other) {
      const auto& theirs = slices[other].device->slice;
      if (!theirs || card_->find(*theirs) != profile || theirs->start != slice.start) continue;
      again = true;
      good = good && (is_init(slices[i].kind) || is_init(slices[other].kind)) &&
             slices[i].kind != model::ContainerType::kSidecar &&
             slices[other].kind != model::ContainerType::kSidecar;
    }
    if (again) continue;
    good = good && held_.room_for(*card_, *profile, slice.start);
    held_.add(*profile, slice.start);
  }
  return good;
}

SliceUse MigOracle::taken(View view) const {
  SliceUse use;
  if (view >= View::kFree) use = held_;
  if (view >= View::kSound) use.taken |= failed_;
  for (const model::Slice& slice : offered_) {
    if (view < View::kOffered || slice.start + slice.size > card_->axis) continue;
    use.taken |= model::axis_range(slice.start, slice.size);
  }
  return use;
}

bool MigOracle::offers(const LiteralProfile& profile, int start, View view) const {
  return view < View::kOffered || (!gives_none_ && (dynamic_ || listed(profile, start)));
}

/// A plain init container has the slice of the first app that serves it; else that of an init
/// container that needs more, or as much and comes before it.
bool MigOracle::share_out(const std::vector<User>& users, View view, Shares& shares) const {
  auto& [owners, profiles] = shares;
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
    const bool init = is_init(users[i].asked->type);
    return std::tuple(init, init ? -profile.size : 0, init ? -profile.compute : 0,
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

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are containers
bool MigOracle::place(const Shares& shares, View view, const SliceUse& use,
                      std::vector<model::MigPlacement>& slices, const Visit& visit) const {
  const auto& [owners, profiles] = shares;
  const std::size_t user = slices.size();
  if (user == owners.size()) {
    std::vector<model::MigPlacement> all;
    for (const std::size_t owner : owners) all.push_back(slices[owner]);
    return visit(all);
  }
  const auto next = [&](model::MigPlacement slice, const SliceUse& with) {
    slices.push_back(slice);
    const bool done = place(shares, view, with, slices, visit);
    slices.pop_back();
    return done;
  };
  if (owners[user] != user || !profiles[user]) return next({}, use);
  const LiteralProfile& profile = card_->profiles[*profiles[user]];
  return std::ranges::any_of(profile.starts, [&](int start) {
    if (!offers(profile, start, view) || !use.room_for(*card_, profile, start)) return false;
    SliceUse with = use;
    with.add(profile, start);
    return next({static_cast<std::uint16_t>(*profiles[user]), static_cast<std::uint16_t>(start)},
                with);
  });
}

bool MigOracle::any_places(const std::vector<User>& users, const Visit& visit) const {
  Shares shares;
  std::vector<model::MigPlacement> slices;
  return share_out(users, View::kFree, shares) &&
         place(shares, View::kFree, taken(View::kFree), slices, visit);
}

std::optional<std::vector<std::int64_t>> MigOracle::prices(const std::vector<User>& users,
                                                           View view) const {
  Shares shares;
  std::vector<model::MigPlacement> slices;
  if (!share_out(users, view, shares)) return std::nullopt;
  if (!place(shares, view, taken(view), slices, [](const auto&) { return true; })) {
    return std::nullopt;
  }
  std::vector<std::int64_t> prices;
  for (const std::optional<Profile>& profile : shares.profiles) {
    prices.push_back(profile ? card_->cost(card_->profiles[*profile]).compute : 0);
  }
  return prices;
}

bool MigOracle::accepts(const std::vector<User>& users) const {
  Shares shares;
  if (!share_out(users, View::kFree, shares)) return false;
  SliceUse use = taken(View::kFree);
  for (std::size_t i = 0; i < users.size(); ++i) {
    const model::DeviceAllocation& take = *users[i].take;
    const LiteralProfile& profile = card_->profiles.at(take.slice.profile);
    const Amounts stated{take.memory.value, take.compute.value};
    if (take.mode != model::GpuMode::kMig || stated != card_->cost(profile)) return false;
    const std::size_t owner = shares.owners[i];
    if (owner != i) {
      if (users[owner].take->slice != take.slice) return false;
      continue;
    }
    if (take.slice.profile != *shares.profiles[i]) return false;
    if (std::ranges::count(profile.starts, take.slice.start) == 0) return false;
    if (!offers(profile, take.slice.start, View::kFree)) return false;
    if (!use.room_for(*card_, profile, take.slice.start)) return false;
    use.add(profile, take.slice.start);
  }
  return true;
}

model::Slice MigOracle::slice_at(model::MigPlacement place) const {
  const LiteralProfile& profile = card_->profiles.at(place.profile);
  model::Slice slice{profile.name, place.start, profile.size, {}};
  for (const model::Slice& known : listed_) {
    if (card_->find(known) == &profile && known.start == slice.start) slice.uuid = known.uuid;
  }
  return slice;
}

model::MigPlacement MigOracle::placement_of(const model::Slice& slice) const {
  const LiteralProfile* profile = card_->find(slice);
  if (profile == nullptr) return {};
  return {static_cast<std::uint16_t>(profile - card_->profiles.data()),
          static_cast<std::uint16_t>(slice.start)};
}

std::size_t MigOracle::starts_for(const model::ContainerRequest& asked) const {
  std::size_t starts = 0;
  (void)any_places({{.asked = &asked}}, [&](const auto&) {
    ++starts;
    return false;
  });
  return starts;
}

}  // namespace snug
