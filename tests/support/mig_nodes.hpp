// Makes nodes with GPUs in MIG mode, and pods that hold slices of them, for tests. Pure. An invalid
// text throws std::invalid_argument.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/mig/card_catalog.hpp"
#include "support/test_objects.hpp"

namespace snug {

/// Returns the card with this name in the card catalog.
inline const mig::MigCard& card_named(std::string_view name) {
  for (const mig::MigCard& card : mig::mig_cards()) {
    if (card.name == name) return card;
  }
  throw std::invalid_argument("no such card: " + std::string(name));
}

/// Sets the MIG table of a GPU, and the sizes of its slices according to the table. A slice of a
/// profile that is not in the table gets the size of one memory slice.
inline void set_table(model::GpuInfo& gpu, model::MigTablePtr table) {
  gpu.mig_table = std::move(table);
  for (model::Slice& slice : gpu.mig_instances) {
    const auto profile = gpu.mig_table->find_profile(slice.profile);
    slice.size = profile ? gpu.mig_table->profiles[*profile].size : 1;
  }
}

/// As make_node(), but each GPU in MIG mode also gets the MIG table of the card that its model
/// names.
inline model::NodeInventory make_mig_node(std::string_view text) {
  model::NodeInventory node = make_node(text);
  for (model::GpuInfo& gpu : node.gpus) {
    const mig::MigCard* card =
        gpu.mig_enabled ? mig::find_mig_card(gpu.model, gpu.memory) : nullptr;
    if (card != nullptr) set_table(gpu, card->table);
  }
  return node;
}

inline model::GpuRequest make_slice_request(std::string profile) {
  std::string text = "gpu-mig-profile=" + profile;
  return make_request(model::SliceRequest{std::move(profile)}, 1, std::move(text));
}

/// Makes a slice, identified by the index of its GPU, with the memory and compute of its profile. A
/// profile that is not in the table has one memory slice, 1 MiB and 1 milli-GPU.
inline model::ReservedDevice make_slice_device(int index, const model::MigTable& table,
                                               std::string profile, int start) {
  model::ReservedDevice device{
      .index = index, .mode = model::GpuMode::kMig, .memory = {1}, .compute = {1}};
  device.slice = model::Slice{.profile = std::move(profile), .start = start, .size = 1, .uuid = {}};
  if (const auto known = table.find_profile(device.slice->profile)) {
    const model::MigProfile& of = table.profiles[*known];
    device.slice->size = of.size;
    device.memory = of.memory;
    device.compute = {std::int64_t{1000} * of.compute_slices / table.compute_slices};
  }
  return device;
}

/// Makes the holding of a pod that requested the profile of this slice and has the slice.
inline std::shared_ptr<model::Holding> make_slice_holding(std::string_view uid,
                                                          std::string_view node,
                                                          model::ReservedDevice device) {
  const model::GpuRequest request = make_slice_request(device.slice->profile);
  auto holding = make_holding(uid, node, {std::move(device)});
  holding->container_requests.emplace_back(request.containers.front());
  return holding;
}

}  // namespace snug
