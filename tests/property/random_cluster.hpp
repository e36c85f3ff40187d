// Random small nodes, holdings and requests for properties. Only to be called inside a RapidCheck
// property: every choice is drawn from its generators, so that failures shrink and seeds repeat.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "support/cluster.hpp"

namespace snug {

/// One of 0..n-1, each with the same chance whatever RapidCheck's size is.
inline int draw(int n) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n)); }
inline bool one_in(int n) { return draw(n) == n - 1; }

template <typename T>
T draw_from(const std::vector<T>& values) {
  return values.at(static_cast<std::size_t>(draw(static_cast<int>(values.size()))));
}

inline std::vector<GpuMode> draw_modes() {
  using enum GpuMode;
  return draw_from<std::vector<GpuMode>>({{kWhole, kTimeSlicing},
                                          {kWhole, kTimeSlicing, kMps},
                                          {kMps, kTimeSlicing},
                                          {kWhole},
                                          {kMps, kWhole},
                                          {kTimeSlicing},
                                          {}});
}

inline std::int64_t draw_capacity() {
  return draw_from<std::int64_t>({40960, 16384, 81920, 1000, 7, 1});
}

/// `odd`: with everything that may be wrong with a node.
inline NodeInventory draw_node(const std::string& name, bool odd) {
  NodeInventory node;
  node.name = name;
  const int gpus = odd && one_in(20) ? 0 : 1 + draw(4);
  for (int i = 0; i < gpus; ++i) {
    GpuInfo gpu{.index = odd && one_in(4) ? i + 10 : i,
                .uuid = gpu_uuid(name, i),
                .model = "A",
                .memory = {draw_capacity()},
                .modes = {GpuMode::kWhole, GpuMode::kTimeSlicing}};
    if (odd) {
      gpu.healthy = !one_in(5);
      gpu.mig = one_in(6);
      gpu.modes = draw_modes();
      if (one_in(4)) gpu.uuid.clear();
    }
    node.gpus.push_back(std::move(gpu));
  }
  if (!one_in(3)) node.kubelet_units.emplace("nvidia.com/gpu", gpus);
  if (one_in(3)) node.kubelet_units.emplace("nvidia.com/mig-1g.5gb", draw(8));
  if (!odd) return node;
  if (one_in(4)) node.kubelet_capacity.emplace("nvidia.com/gpu", gpus + draw(2));
  if (one_in(5)) node.pool = draw_from<Pool>({Pool::kShares, Pool::kWhole});
  if (one_in(25)) node.closed_to_all = ReasonCode::kBadInventory;
  if (one_in(25)) node.closed_to_annotated = ReasonCode::kUnhealthy;
  return node;
}

inline ReservedDevice draw_device(const NodeInventory& node) {
  using enum GpuMode;
  // Mostly what a GPU has room for, on a GPU that is there: what is wrong should not be the rule.
  const bool small = !one_in(5);
  ReservedDevice device{
      .index = draw(one_in(4) ? 6 : std::max(1, static_cast<int>(node.gpus.size()))),
      .mode = one_in(3) ? draw_from<GpuMode>({kWhole, kMps, kMig}) : kTimeSlicing,
      .memory = {1 + draw(small ? 5000 : 50000)},
      .compute = {1 + draw(small ? 300 : 1100)}};
  if (one_in(8)) {
    device.uuid = "GPU-gone";
  } else if (one_in(2)) {
    device.uuid = gpu_uuid(node.name, device.index);
  }
  return device;
}

/// What events may show, however wrong it is.
inline HoldingPtr draw_holding(const std::string& uid, const NodeInventory& node) {
  if (one_in(10)) return make_units_holding(uid, node.name, 1 + draw(3));
  if (one_in(25)) return make_unplaced(uid, node.name);
  if (one_in(25)) return make_holding(uid, node.name, {});
  std::vector<ReservedDevice> devices;
  const int count = 1 + draw(2);
  for (int i = 0; i < count; ++i) devices.push_back(draw_device(node));
  auto holding = make_holding(uid, node.name, std::move(devices));
  holding->suspect = one_in(12);
  return holding;
}

inline GpuRequest draw_request() {
  switch (draw(5)) {
    case 0:
      return make_memory(1 +
                         draw_from<std::int64_t>({0, 6, 499, 3814, 16383, 16384, 40959, 90000}));
    case 1:
      return make_whole(1 + draw(4));
    case 2: {
      GpuRequest request = make_units(1 + draw(4));
      if (one_in(3)) {
        const GpuRequest more = make_units(1 + draw(4), "nvidia.com/mig-1g.5gb");
        request.containers.push_back(more.containers.front());
      }
      return request;
    }
    default:
      return make_fraction(1 + draw(999));
  }
}

}  // namespace snug
