#include "plan/tightness.hpp"

#include <algorithm>
#include <tuple>

namespace snug::plan {
namespace {

/// How much capacity a placement leaves free. Compared by opened_gpus, then by free_milli_sum.
struct Slack {
  std::int64_t opened_gpus = 0;     // GPUs of the placement that were empty
  std::int64_t free_milli_sum = 0;  // GpuState::free_milli_sum of its GPUs after the placement

  friend auto operator<=>(const Slack&, const Slack&) = default;
};

Slack slack_of(const model::NodeState& node, model::PlacementView placement) {
  Slack slack{.free_milli_sum = -placement_size(placement)};
  std::vector<std::uint16_t> seen_gpus;
  for (const model::DeviceAllocation& allocation : placement.allocations) {
    if (std::ranges::find(seen_gpus, allocation.gpu) != seen_gpus.end()) continue;
    seen_gpus.push_back(allocation.gpu);
    const model::GpuState& gpu = node.gpus[allocation.gpu];
    slack.free_milli_sum += gpu.free_milli_sum;
    if (gpu.empty()) ++slack.opened_gpus;
  }
  return slack;
}

}  // namespace

std::int64_t placement_size(model::PlacementView placement) {
  std::int64_t size = 0;
  for (const model::DeviceAllocation& allocation : placement.allocations)
    size += allocation.milli_sum;
  return size;
}

std::vector<std::size_t> by_tightness(const model::NodeState& node,
                                      const model::PlacementList& options) {
  std::vector<std::tuple<Slack, std::size_t>> keyed;
  keyed.reserve(options.size());
  for (std::size_t i = 0; i < options.size(); ++i) {
    keyed.emplace_back(slack_of(node, options[i]), i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> order;
  order.reserve(keyed.size());
  for (const auto& [slack, i] : keyed) order.push_back(i);
  return order;
}

}  // namespace snug::plan
