#include "plan/tightness.hpp"

#include <algorithm>
#include <tuple>

namespace snug {
namespace {

struct Loose {
  std::int64_t opened = 0;  // GPUs that were empty
  std::int64_t left = 0;    // free on its GPUs, in the units of GpuState::room

  friend auto operator<=>(const Loose&, const Loose&) = default;
};

Loose looseness(const NodeState& node, PlacementView placement) {
  Loose loose{.left = -size_of(placement)};
  std::vector<std::uint16_t> seen;
  for (const DeviceTake& take : placement.takes) {
    if (std::ranges::find(seen, take.gpu) != seen.end()) continue;
    seen.push_back(take.gpu);
    const GpuState& gpu = node.gpus[take.gpu];
    loose.left += gpu.room;
    if (gpu.empty()) ++loose.opened;
  }
  return loose;
}

}  // namespace

std::int64_t size_of(PlacementView placement) {
  std::int64_t size = 0;
  for (const DeviceTake& take : placement.takes) size += take.room;
  return size;
}

std::vector<std::size_t> by_tightness(const NodeState& node, const PlacementList& options) {
  std::vector<std::tuple<Loose, std::size_t>> keyed;
  keyed.reserve(options.size());
  for (std::size_t i = 0; i < options.size(); ++i) {
    keyed.emplace_back(looseness(node, options[i]), i);
  }
  std::ranges::sort(keyed);
  std::vector<std::size_t> order;
  order.reserve(keyed.size());
  for (const auto& [loose, i] : keyed) order.push_back(i);
  return order;
}

}  // namespace snug
