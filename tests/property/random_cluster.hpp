// Random small nodes, holdings and requests for properties. Only to be called inside a RapidCheck
// property: every choice is drawn from its generators, so that failures shrink and seeds repeat.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "oracle/mig_cards.hpp"
#include "support/mig_nodes.hpp"

namespace snug {

/// One of 0..n-1, each with the same chance whatever RapidCheck's size is.
inline int draw(int n) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, n)); }
inline bool one_in(int n) { return draw(n) == n - 1; }

template <typename T>
T draw_from(const std::vector<T>& values) {
  return values.at(static_cast<std::size_t>(draw(static_cast<int>(values.size()))));
}

inline std::vector<model::GpuMode> draw_modes() {
  using enum model::GpuMode;
  return draw_from<std::vector<model::GpuMode>>({{kWhole, kTimeSlicing},
                                                 {kWhole, kTimeSlicing, kMps},
                                                 {kMps, kTimeSlicing},
                                                 {kWhole},
                                                 {kMps, kWhole},
                                                 {kTimeSlicing},
                                                 {}});
}

inline std::int64_t draw_capacity() {
  return draw_from<std::int64_t>(
      {40960, 16384, 81920, one_in(3) ? 7 : 1000, one_in(3) ? 1 : 40960});
}

inline std::string draw_model() {
  return draw_from<std::string>({"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-80GB-SHARED", "Tesla-T4"});
}

inline std::string draw_namespace() {
  return draw_from<std::string>({"default", "team-a", "team-b"});
}

/// NVLinks between any two of so many GPUs; now and then none are known.
inline std::vector<std::vector<int>> draw_links(std::size_t gpus) {
  if (!one_in(4)) return {};
  std::vector<std::vector<int>> links(gpus, std::vector<int>(gpus));
  for (std::size_t a = 0; a < gpus; ++a) {
    for (std::size_t b = 0; b < a; ++b) links[a][b] = links[b][a] = 4 * draw(4);
  }
  return links;
}

inline model::GpuInfo draw_gpu(const std::string& node, int index) {
  return {.index = index,
          .uuid = make_gpu_uuid(node, index),
          .model = "A",
          .memory = {draw_capacity()},
          .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}};
}

inline model::MigTablePtr table_of(const LiteralCard& card) {
  if (!card.published) return mig::find_mig_card(card.model, {card.memory})->table;
  std::vector<model::MigProfile> profiles;
  for (const LiteralProfile& of : card.profiles) {
    model::MigProfile profile{.name = of.name, .size = of.size, .memory = {of.memory}};
    profile.starts = of.starts;
    profiles.push_back(std::move(profile));
  }
  return mig::build_mig_table(std::move(profiles));
}

inline const LiteralProfile& draw_profile(const LiteralCard& card) {
  return card.profiles[static_cast<std::size_t>(draw(static_cast<int>(card.profiles.size())))];
}

/// Slices that do not overlap.
inline std::vector<model::Slice> draw_slices(const LiteralCard& card) {
  std::vector<model::Slice> slices;
  model::AxisMask taken = 0;
  for (int tries = draw(9); tries > 0; --tries) {
    const LiteralProfile& profile = draw_profile(card);
    const int start = draw_from(profile.starts);
    const model::AxisMask range = model::axis_range(start, profile.size);
    if ((taken & range) != 0) continue;
    taken |= range;
    slices.push_back({.profile = profile.name,
                      .start = start,
                      .size = profile.size,
                      .uuid = one_in(4) ? "" : "MIG-" + std::to_string(start)});
  }
  return slices;
}

/// In MIG mode, of a card whose table is known.
inline void make_sliced(model::GpuInfo& gpu) {
  const LiteralCard& card = draw_from(literal_cards());
  gpu.mig_enabled = true;
  gpu.model = card.model;
  gpu.memory = {card.memory};
  gpu.mig_table = table_of(card);
  if (!one_in(3)) gpu.mig_instances = draw_slices(card);
  if (one_in(5)) gpu.failed_memory_slices = model::axis_range(draw(card.axis), 1);
}

/// With all that may be wrong with it, or different from its neighbours.
inline model::GpuInfo draw_odd_gpu(const std::string& node, int index) {
  model::GpuInfo gpu = draw_gpu(node, index);
  if (one_in(4)) gpu.index += 10;
  if (one_in(4)) gpu.uuid.clear();
  gpu.model = draw_model();
  gpu.healthy = !one_in(6);
  gpu.mig_enabled = one_in(10);
  if (!one_in(3)) gpu.allowed_modes = draw_modes();
  if (one_in(4)) make_sliced(gpu);
  return gpu;
}

/// `odd`: with everything that may be wrong with a node.
inline model::NodeInventory draw_node(const std::string& name, bool odd) {
  model::NodeInventory node;
  node.name = name;
  const int gpus = odd && one_in(50) ? 0 : 1 + draw(4);
  for (int i = 0; i < gpus; ++i) {
    model::GpuInfo gpu = odd ? draw_odd_gpu(name, i) : draw_gpu(name, i);
    // Boxes of GPUs that are all alike are the common case.
    if (i > 0 && one_in(3)) {
      gpu = node.gpus.front();
      gpu.index = i;
      gpu.uuid = gpu.uuid.empty() ? "" : make_gpu_uuid(name, i);
    }
    node.gpus.push_back(std::move(gpu));
  }
  node.nvlinks = draw_links(node.gpus.size());
  if (odd && one_in(6)) node.replicas = 2 + draw(3);
  if (!one_in(3)) node.kubelet_allocatable.emplace("nvidia.com/gpu", gpus * node.replicas);
  if (one_in(3)) node.kubelet_allocatable.emplace("nvidia.com/mig-1g.5gb", draw(8));
  node.kubelet_capacity = node.kubelet_allocatable;
  if (!odd) return node;
  node.dynamic_mig = one_in(2);
  if (one_in(8)) node.plugin_profiles.insert(draw_profile(draw_from(literal_cards())).name);
  node.plugin_owns_all_slices = one_in(20);
  node.enforces_shares = one_in(2);
  if (one_in(4)) {
    node.enforcement = one_in(2) ? model::Enforcement::kOpen : model::Enforcement::kFailClosed;
    node.agent_alive = !one_in(8);
  }
  if (one_in(10)) {
    node.other_enforcer = draw_from<model::OtherEnforcer>(
        {model::OtherEnforcer::kNvFractions, model::OtherEnforcer::kKoordlet});
  }
  for (auto& [resource, units] : node.kubelet_capacity) units += one_in(4) ? draw(3) : 0;
  if (one_in(15)) node.pool = draw_from<model::Pool>({model::Pool::kShares, model::Pool::kWhole});
  if (one_in(60)) node.closed_to_all = model::ReasonCode::kBadInventory;
  if (one_in(60)) node.closed_to_annotated = model::ReasonCode::kUnhealthy;
  return node;
}

inline model::ReservedDevice draw_device(const model::NodeInventory& node) {
  using enum model::GpuMode;
  // Mostly what a GPU has room for, on a GPU that is there: what is wrong should not be the rule.
  const bool small = !one_in(5);
  model::ReservedDevice device{
      .index = draw(one_in(4) ? 6 : std::max(1, static_cast<int>(node.gpus.size()))),
      .mode = one_in(3) ? draw_from<model::GpuMode>({kWhole, kMps, kMig}) : kTimeSlicing,
      .memory = {1 + draw(small ? 5000 : 50000)},
      .compute = {1 + draw(small ? 300 : 1100)}};
  if (one_in(8)) {
    device.uuid = "GPU-gone";
  } else if (one_in(2)) {
    device.uuid = make_gpu_uuid(node.name, device.index);
  }
  return device;
}

/// A slice of one of the node's GPUs: mostly one that it can have, at its price.
inline model::ReservedDevice draw_slice_device(const model::NodeInventory& node) {
  model::ReservedDevice device = draw_device(node);
  const auto gpu = node.find_gpu(device.index, device.uuid);
  const LiteralCard* card = gpu ? card_of(node.gpus[*gpu]) : nullptr;
  if (card == nullptr) return device;
  const std::vector<model::Slice>& known = node.gpus[*gpu].mig_instances;
  device.mode = model::GpuMode::kMig;
  if (!known.empty() && !node.dynamic_mig && !one_in(8)) {
    device.slice = draw_from(known);
  } else {
    const LiteralProfile& profile = draw_profile(*card);
    device.slice = {.profile = profile.name,
                    .start = one_in(12) ? draw(14) : draw_from(profile.starts),
                    .size = one_in(20) ? 1 + draw(8) : profile.size,
                    .uuid = one_in(8) ? "MIG-other" : ""};
  }
  for (const LiteralProfile& profile : card->profiles) {
    if (profile.name != device.slice->profile) continue;
    device.memory = {one_in(12) ? profile.memory / 2 : profile.memory};
    device.compute = {std::int64_t{1000} * profile.compute / card->compute};
  }
  return device;
}

inline model::ContainerType draw_kind() {
  return draw_from<model::ContainerType>(
      {model::ContainerType::kInit, model::ContainerType::kSidecar, model::ContainerType::kApp});
}

/// What events may show, however wrong it is.
inline model::HoldingPtr draw_holding(const std::string& uid, const model::NodeInventory& node) {
  if (one_in(10)) return make_units_holding(uid, node.name, 1 + draw(3));
  if (one_in(25)) return make_unplaced(uid, node.name);
  if (one_in(25)) return make_holding(uid, node.name, {});
  auto holding = make_holding(uid, node.name, {});
  holding->name_space = draw_namespace();
  std::vector<model::ReservedContainer>& containers = holding->reservation.containers;
  containers.clear();
  const int asking = one_in(3) ? 2 + draw(2) : 1;
  for (int c = 0; c < asking; ++c) {
    std::vector<model::ReservedDevice> devices;
    const int count = 1 + draw(2);
    for (int i = 0; i < count; ++i) {
      devices.push_back(one_in(10) ? draw_device(node) : draw_slice_device(node));
    }
    containers.push_back(
        {.name = "c" + std::to_string(c), .request_text = "test", .assigned = devices});
    holding->container_types.push_back(asking == 1 ? model::ContainerType::kApp : draw_kind());
  }
  holding->suspect = one_in(12);
  return holding;
}

inline model::ModelFilter draw_models() {
  model::ModelFilter models;
  const std::vector<std::string> globs = {"*A100*", "tesla-t?", "*80gb", "*", "H100*"};
  if (one_in(2)) models.included.push_back(draw_from(globs));
  if (one_in(4)) models.included.push_back(draw_from(globs));
  if (one_in(3)) models.excluded.push_back(draw_from(globs));
  return models;
}

inline std::string to_text(const model::ModelFilter& models) {
  std::string text;
  for (const std::string& glob : models.included) text += (text.empty() ? "" : ",") + glob;
  for (const std::string& glob : models.excluded) text += (text.empty() ? "!" : ",!") + glob;
  return text;
}

/// A share on one GPU or on each of several, as pods may describe it.
inline model::ContainerRequest draw_share(int most_thousandths) {
  model::ContainerRequest share =
      one_in(4) ? make_memory(1 + draw_from<std::int64_t>({0, 6, 499, 2047, 3814, 8191, 12287,
                                                           16383, 16384, 40959, 90000}))
                      .containers.front()
                : make_fraction(1 + draw(most_thousandths)).containers.front();
  if (one_in(6)) {
    share.count = 2 + draw(3);
    share.text += ";gpu-count=" + std::to_string(share.count);
  }
  if (one_in(8)) {
    share.compute_percent = 1 + draw(100);
    share.text += ";gpu-compute=" + std::to_string(*share.compute_percent);
  }
  if (one_in(5)) {
    const std::vector<std::string> names = {"time-slicing", "mps", "mig"};
    const auto which = static_cast<std::size_t>(one_in(6) ? 2 : draw(2));
    share.isolation = std::vector{model::Isolation::kTimeSlicing, model::Isolation::kMps,
                                  model::Isolation::kMig}[which];
    share.text += ";gpu-isolation=" + names[which];
  }
  return share;
}

inline model::ContainerRequest draw_slice_ask() {
  model::ContainerRequest asked =
      make_slice_request(draw_profile(draw_from(literal_cards())).name).containers.front();
  if (one_in(6)) {
    asked.count = 2;
    asked.text += ";gpu-count=2";
  }
  return asked;
}

inline model::ContainerRequest draw_container(model::ContainerType kind, bool whole,
                                              int most_thousandths) {
  model::ContainerRequest asked = whole
                                      ? make_whole(1 + (one_in(3) ? draw(4) : 0)).containers.front()
                                      : draw_share(most_thousandths);
  if (!whole && kind != model::ContainerType::kInit && one_in(5)) asked = draw_slice_ask();
  asked.type = kind;
  if (one_in(6)) {
    asked.models = draw_models();
    if (!asked.models.empty()) asked.text += ";gpu-model=" + to_text(asked.models);
  }
  return asked;
}

/// Plain init containers and sidecars stand before the apps; whole GPUs for an init container only
/// where no other container wants a share.
inline model::GpuRequest draw_pod() {
  model::GpuRequest request;
  const int asking = 2 + (one_in(3) ? draw(3) : 0);
  const int wholes = draw_from<int>({0, 0, 0, 3});  // so many of ten containers want whole GPUs
  bool shares = false;
  for (int c = asking; c > 0; --c) {
    const bool first = c < asking && one_in(2);
    const model::ContainerType kind =
        !first ? model::ContainerType::kApp
               : draw_from<model::ContainerType>(
                     {model::ContainerType::kInit, model::ContainerType::kSidecar});
    const bool whole = draw(10) < wholes && (kind != model::ContainerType::kInit || !shares);
    shares = shares || (!whole && kind != model::ContainerType::kInit);
    auto& all = request.containers;
    all.push_back(draw_container(kind, whole, one_in(4) ? 999 : 400));
    all.back().container = "c" + std::to_string(c);
  }
  const auto is_app = [](const model::ContainerRequest& asked) {
    return asked.type == model::ContainerType::kApp;
  };
  std::ranges::stable_partition(
      request.containers, [&](const model::ContainerRequest& asked) { return !is_app(asked); });
  // A sidecar's share may have been drawn after an init container's whole GPUs.
  for (model::ContainerRequest& asked : request.containers) {
    const bool clash = shares && asked.type == model::ContainerType::kInit &&
                       std::holds_alternative<model::WholeGpuRequest>(asked.device);
    if (!clash) continue;
    const std::string name = asked.container;
    asked = draw_container(model::ContainerType::kInit, false, 999);
    asked.container = name;
  }
  request.main_container = request.containers.back().container;
  return request;
}

inline model::GpuRequest draw_request() {
  switch (draw(8)) {
    case 0: {
      model::GpuRequest request = make_units(1 + draw(4));
      if (one_in(3)) {
        const model::GpuRequest more = make_units(1 + draw(4), "nvidia.com/mig-1g.5gb");
        request.containers.push_back(more.containers.front());
      }
      return request;
    }
    case 1:
      return make_whole(1 + draw(4));
    case 2:
    case 3:
    case 4:
      return draw_pod();
    default: {
      model::GpuRequest request = make_fraction(1);
      request.containers = {draw_container(model::ContainerType::kApp, false, 999)};
      return request;
    }
  }
}

}  // namespace snug
