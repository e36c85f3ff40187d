// Nodes with GPUs in MIG mode, and what pods have of them, for tests. Pure; a text that cannot be
// read throws std::invalid_argument.
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

/// By name, or as a node calls it.
inline const mig::MigCard& card_named(std::string_view name) {
  for (const mig::MigCard& card : mig::mig_cards()) {
    if (card.name == name) return card;
  }
  throw std::invalid_argument("no such card: " + std::string(name));
}

/// Slices that exist get the sizes that the table says; one of a profile that it does not have has
/// one memory slice.
inline void set_table(model::GpuInfo& gpu, model::MigTablePtr table) {
  gpu.mig_table = std::move(table);
  for (model::Slice& slice : gpu.mig_instances) {
    const auto profile = gpu.mig_table->find_profile(slice.profile);
    slice.size = profile ? gpu.mig_table->profiles[*profile].size : 1;
  }
}

/// As make_node(), and GPUs in MIG mode have the tables of the cards that their models name.
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

/// Held by index, at its price; a profile that the table does not have has one memory slice of
/// nothing.
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

/// What a pod that named the slice's profile has.
inline std::shared_ptr<model::Holding> make_slice_holding(std::string_view uid,
                                                          std::string_view node,
                                                          model::ReservedDevice device) {
  const model::GpuRequest request = make_slice_request(device.slice->profile);
  auto holding = make_holding(uid, node, {std::move(device)});
  holding->container_requests.emplace_back(request.containers.front());
  return holding;
}

}  // namespace snug
