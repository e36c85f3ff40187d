#include "snug/admission/mirrored_resources.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "snug/fit/charge.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/mig/profile_choice.hpp"

namespace snug::admission {
namespace {

using model::MirroredAmounts;

constexpr std::int64_t kWholeMilli = base::kWholeGpu.value;

using AmountsByProfile = std::map<std::string, MirroredAmounts, std::less<>>;

/// Of the profiles of all built-in cards, by name and by alias.
AmountsByProfile least_amounts() {
  AmountsByProfile least;
  for (const mig::MigCard& card : mig::mig_cards()) {
    for (const model::MigProfile& profile : card.table->profiles) {
      const MirroredAmounts charged{.milli = mig::slice_compute(*card.table, profile),
                                    .memory = profile.memory};
      for (const std::string& name : {profile.name, profile.alias}) {
        if (name.empty()) continue;
        MirroredAmounts& known = least.emplace(name, charged).first->second;
        known = {.milli = std::min(known.milli, charged.milli),
                 .memory = std::min(known.memory, charged.memory)};
      }
    }
  }
  return least;
}

/// The most that the pod of one slice of this profile can carry: it named the profile, or a
/// fraction, or an amount of memory.
MirroredAmounts most_for_slice(const model::MigTable& table, const model::MigProfile& profile,
                               const CardRange& cards) {
  const MirroredAmounts named = slice_amounts(profile.name);
  const MirroredAmounts by_alias = profile.alias.empty() ? named : slice_amounts(profile.alias);
  // A fraction of f gets at least f of the memory slices, and `gpu-compute` no more than the slice
  // has.
  const std::int64_t fraction = kWholeMilli * profile.size / table.memory_slices;
  const std::int64_t by_memory =
      std::max<std::int64_t>(1, kWholeMilli * profile.memory.value / cards.largest.value);
  return {.milli = std::max({named.milli,
                             by_alias.milli,
                             {fraction},
                             {by_memory},
                             mig::slice_compute(table, profile)}),
          .memory = std::max({named.memory, by_alias.memory, profile.memory,
                              base::MebiBytes{cards.smallest.value * fraction / kWholeMilli}})};
}

/// The largest sum of `value` over slices that do not overlap.
template <typename Value>
std::int64_t largest_layout(const model::MigTable& table, const Value& value) {
  const auto axis = static_cast<std::size_t>(table.memory_slices);
  std::vector<std::int64_t> best_from(axis + 1, 0);  // by the first memory slice
  for (std::size_t start = axis; start-- > 0;) {
    best_from[start] = best_from[start + 1];
    for (std::size_t p = 0; p < table.profiles.size(); ++p) {
      const model::MigProfile& profile = table.profiles[p];
      if (!std::ranges::binary_search(profile.starts, static_cast<int>(start))) continue;
      const std::size_t end = start + static_cast<std::size_t>(profile.size);
      best_from[start] = std::max(best_from[start], value(p) + best_from[end]);
    }
  }
  return best_from.front();
}

MirroredAmounts mig_capacity(const model::MigTable& table, const CardRange& cards) {
  std::vector<MirroredAmounts> most;
  most.reserve(table.profiles.size());
  for (const model::MigProfile& profile : table.profiles) {
    most.push_back(most_for_slice(table, profile, cards));
  }
  return {.milli = {largest_layout(table, [&](std::size_t p) { return most[p].milli.value; })},
          .memory = {largest_layout(table, [&](std::size_t p) { return most[p].memory.value; })}};
}

/// The capacity of a GPU that is not in MIG mode. In the range, a container's amounts are at most
/// its charge. Outside of it, a sum of fractions and a sum of amounts of memory can each fill the
/// GPU.
MirroredAmounts gpu_capacity(base::MebiBytes memory, const CardRange& cards) {
  MirroredAmounts capacity{.milli = base::kWholeGpu, .memory = memory};
  if (memory > cards.largest) {
    capacity.milli = {2 * (kWholeMilli * memory.value / cards.largest.value + 1)};
  }
  if (memory < cards.smallest) capacity.memory = {2 * cards.smallest.value};
  return capacity;
}

MirroredAmounts capacity_of(const model::GpuState& gpu, const CardRange& cards) {
  const bool is_held = !gpu.empty();
  if (gpu.closure != model::GpuClosure::kOpen && !is_held) return {};
  MirroredAmounts capacity = gpu.info->mig_enabled && gpu.info->mig_table
                                 ? mig_capacity(*gpu.info->mig_table, cards)
                                 : gpu_capacity(std::max(gpu.memory, gpu.used_memory), cards);
  // Pods can exceed a GPU that has vanished or shrunk.
  capacity.milli = std::max(capacity.milli, gpu.used_compute);
  capacity.memory = std::max(capacity.memory, gpu.used_memory);
  return capacity;
}

}  // namespace

MirroredAmounts slice_amounts(std::string_view profile) {
  static const AmountsByProfile by_profile = least_amounts();
  const auto least = by_profile.find(profile);
  return least == by_profile.end() ? MirroredAmounts{.milli = {1}, .memory = {1}} : least->second;
}

MirroredAmounts container_amounts(const model::ContainerRequest& request, const CardRange& cards) {
  MirroredAmounts amounts{.milli = fit::charge(request, cards.largest).compute,
                          .memory = fit::charge(request, cards.smallest).memory};
  if (const auto* slice = std::get_if<model::SliceRequest>(&request.device)) {
    amounts = slice_amounts(slice->profile);
  }
  return {.milli = {request.count * amounts.milli.value},
          .memory = {request.count * amounts.memory.value}};
}

MirroredAmounts node_amounts(const model::NodeState& node, const CardRange& cards) {
  MirroredAmounts capacity;
  for (const model::GpuState& gpu : node.gpus) capacity += capacity_of(gpu, cards);
  return capacity;
}

}  // namespace snug::admission
