#include "snug/demand/typical_pods.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "demand/slice_value.hpp"
#include "snug/base/limits.hpp"
#include "snug/demand/fitted.hpp"

namespace snug::demand {

namespace {

/// Merges shapes that differ only in the requested memory of the node, which FGD ignores.
std::vector<CountedShape> merge_ignoring_memory(const std::vector<CountedShape>& pods) {
  std::map<PodShape, std::size_t> merged_positions;
  std::vector<CountedShape> merged_shapes;
  for (const auto& [shape, count] : pods) {
    PodShape same = shape;
    same.host_memory_mib = 0;
    const auto [row, is_new] = merged_positions.try_emplace(same, merged_shapes.size());
    if (is_new) merged_shapes.emplace_back(std::move(same), 0);
    merged_shapes[row->second].second += count;
  }
  return merged_shapes;
}

/// Sorts by descending count. Shapes with equal counts keep their order.
void sort_by_count(std::vector<CountedShape>& pods) {
  std::vector<std::pair<double, std::size_t>> order;
  order.reserve(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) order.emplace_back(-pods[i].second, i);
  std::ranges::sort(order);
  std::vector<CountedShape> pods_by_count;
  pods_by_count.reserve(pods.size());
  for (const auto& [count, i] : order) pods_by_count.push_back(std::move(pods[i]));
  pods = std::move(pods_by_count);
}

/// Computes TypicalPod::profiles of the shape.
std::vector<std::uint16_t> profiles_of(const PodShape& shape, const Supply& supply) {
  std::vector<std::uint16_t> profiles;
  const std::optional<mig::SliceRequirement> requirement = slice_requirement(shape);
  if (!requirement || supply.mig_tables == nullptr) return profiles;
  for (const model::MigTableRef& table : *supply.mig_tables) {
    const auto profile = table ? mig::smallest_profile(*table, *requirement) : std::nullopt;
    profiles.push_back(profile ? static_cast<std::uint16_t>(*profile + 1) : std::uint16_t{0});
  }
  return profiles;
}

}  // namespace

std::vector<model::TypicalPod> typical_pods(std::vector<CountedShape> pods, const Supply& supply) {
  pods = merge_ignoring_memory(pods);
  sort_by_count(pods);
  double all_pods = 0;
  for (const auto& [shape, count] : pods) all_pods += count;
  double covered = 0;
  std::size_t typical_count = 0;
  while (typical_count < pods.size() && typical_count < base::kMaxTypicalPods &&
         covered < kTypicalPart * all_pods) {
    covered += pods[typical_count++].second;
  }
  std::vector<model::TypicalPod> typical;
  for (std::size_t i = 0; i < typical_count; ++i) {
    const auto& [shape, count] = pods[i];
    typical.push_back(
        {.cpu_milli = shape.host_cpu_milli,
         .gpus = shape.gpus + shape.slice_count,
         .gpu_milli = shape.slice_count > 0 ? base::kWholeGpu.value + 1
                                            : shape.milli_per_gpu(supply.most_common_memory()),
         .models = models_of(shape, supply),
         .share = std::llround(count / covered * static_cast<double>(model::kFixedPointOne)),
         .profiles = profiles_of(shape, supply)});
  }
  return typical;
}

}  // namespace snug::demand
