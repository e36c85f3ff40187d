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

#include "snug/mig/catalog.hpp"
#include "support/cluster.hpp"

namespace snug {

/// By name, or as a node calls it.
inline const MigCard& card_named(std::string_view name) {
  for (const MigCard& card : mig_cards()) {
    if (card.name == name) return card;
  }
  throw std::invalid_argument("no such card: " + std::string(name));
}

/// Slices that exist get the sizes that the table says; one of a profile that it does not have has
/// one memory slice.
inline void set_table(GpuInfo& gpu, MigTablePtr table) {
  gpu.mig_table = std::move(table);
  for (Slice& slice : gpu.mig_instances) {
    const auto profile = gpu.mig_table->find(slice.profile);
    slice.size = profile ? gpu.mig_table->profiles[*profile].size : 1;
  }
}

/// As make_node(), and GPUs in MIG mode have the tables of the cards that their models name.
inline NodeInventory make_mig_node(std::string_view text) {
  NodeInventory node = make_node(text);
  for (GpuInfo& gpu : node.gpus) {
    const MigCard* card = gpu.mig ? find_mig_card(gpu.model, gpu.memory) : nullptr;
    if (card != nullptr) set_table(gpu, card->table);
  }
  return node;
}

inline GpuRequest make_profile_ask(std::string profile) {
  std::string text = "gpu-mig-profile=" + profile;
  return make_request(SliceAsk{std::move(profile)}, 1, std::move(text));
}

/// Held by index, at its price; a profile that the table does not have has one memory slice of
/// nothing.
inline ReservedDevice make_slice_device(int index, const MigTable& table, std::string profile,
                                        int start) {
  ReservedDevice device{.index = index, .mode = GpuMode::kMig, .memory = {1}, .compute = {1}};
  device.slice = Slice{.profile = std::move(profile), .start = start, .size = 1, .uuid = {}};
  if (const auto known = table.find(device.slice->profile)) {
    const MigProfile& of = table.profiles[*known];
    device.slice->size = of.size;
    device.memory = of.memory;
    device.compute = {std::int64_t{1000} * of.compute / table.compute};
  }
  return device;
}

/// What a pod that named the slice's profile has.
inline std::shared_ptr<Holding> make_slice_holding(std::string_view uid, std::string_view node,
                                                   ReservedDevice device) {
  const GpuRequest request = make_profile_ask(device.slice->profile);
  auto holding = make_holding(uid, node, {std::move(device)});
  holding->asks.emplace_back(request.containers.front());
  return holding;
}

}  // namespace snug
