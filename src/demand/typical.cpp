#include "snug/demand/typical.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "demand/slice_value.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/fitted.hpp"

namespace snug {

namespace {

/// FGD ignores the memory that pods ask of the node.
std::vector<CountedShape> without_memory(const std::vector<CountedShape>& pods) {
  std::map<PodShape, std::size_t> known;
  std::vector<CountedShape> counted;
  for (const auto& [shape, count] : pods) {
    PodShape same = shape;
    same.memory_mib = 0;
    const auto [row, is_new] = known.try_emplace(same, counted.size());
    if (is_new) counted.emplace_back(std::move(same), 0);
    counted[row->second].second += count;
  }
  return counted;
}

/// Most frequent first; stable.
void sort_by_count(std::vector<CountedShape>& pods) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) order.emplace_back(-pods[i].second, i);
  std::ranges::sort(order);
  std::vector<CountedShape> sorted;
  sorted.reserve(pods.size());
  for (const auto& [count, i] : order) sorted.push_back(std::move(pods[i]));
  pods = std::move(sorted);
}

/// TypicalPod::profiles.
std::vector<std::uint16_t> profiles_of(const PodShape& shape, const Supply& supply) {
  std::vector<std::uint16_t> profiles;
  const std::optional<SliceNeed> need = slice_need(shape);
  if (!need || supply.mig_tables == nullptr) return profiles;
  for (const MigTableRef& table : *supply.mig_tables) {
    const auto profile = table ? smallest_profile(*table, *need) : std::nullopt;
    profiles.push_back(profile ? static_cast<std::uint16_t>(*profile + 1) : std::uint16_t{0});
  }
  return profiles;
}

}  // namespace

std::vector<TypicalPod> typical_pods(std::vector<CountedShape> pods, const Supply& supply) {
  pods = without_memory(pods);
  sort_by_count(pods);
  double all = 0;
  for (const auto& [shape, count] : pods) all += count;
  double covered = 0;
  std::size_t kept = 0;
  while (kept < pods.size() && kept < kMostTypicalPods && covered < kTypicalPart * all) {
    covered += pods[kept++].second;
  }
  std::vector<TypicalPod> typical;
  for (std::size_t i = 0; i < kept; ++i) {
    const auto& [shape, count] = pods[i];
    typical.push_back({.cpu_milli = shape.cpu_milli,
                       .gpus = shape.gpus + shape.slices,
                       .gpu_milli = shape.slices > 0
                                        ? kWholeGpu.value + 1
                                        : shape.milli_each(supply.most_common_memory()),
                       .models = models_of(shape, supply),
                       .share = std::llround(count / covered * static_cast<double>(kOne)),
                       .profiles = profiles_of(shape, supply)});
  }
  return typical;
}

}  // namespace snug
