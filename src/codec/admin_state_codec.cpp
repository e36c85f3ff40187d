#include "snug/codec/admin_state_codec.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "codec/json_writer.hpp"
#include "snug/mig/card_catalog.hpp"

namespace snug::codec {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Devices = std::vector<model::ReservedDevice>;

std::string dump(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

/// Returns why the node is closed; empty if it is open.
std::string closed_text(const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  const auto with_details = [&](model::ReasonCode code) {
    return inventory.closed_message.empty()
               ? model::message(code)
               : std::string(model::reason_row(code).code) + ": " + inventory.closed_message;
  };
  if (inventory.closed_to_all != model::ReasonCode::kNone)
    return with_details(inventory.closed_to_all);
  if (inventory.closed_to_annotated != model::ReasonCode::kNone) {
    return "to annotated pods: " + with_details(inventory.closed_to_annotated);
  }
  if (node.conflict != model::NodeConflict::kNone)
    return std::string(model::to_string(node.conflict));
  return node.unplaced_pods > 0
             ? "to annotated pods: " + model::message(model::ReasonCode::kNodeClosed)
             : "";
}

OrderedJson holder(const model::Holding& holding, const model::ReservedContainer& container) {
  return {{"namespace", holding.name_space},
          {"pod", holding.pod},
          {"uid", holding.uid},
          {"container", container.name}};
}

struct HeldSlice {
  model::Slice slice;
  OrderedJson holder;
};

/// The holders of a node's devices, in JSON. Both vectors have an element for each GPU.
struct HoldersByGpu {
  std::vector<OrderedJson> holders;  // each is a JSON array
  std::vector<std::vector<HeldSlice>> slices;
  OrderedJson kubelet = OrderedJson::array();  // holders of units that the kubelet assigns
};

HoldersByGpu collect_holders(const model::NodeState& node) {
  HoldersByGpu held{std::vector<OrderedJson>(node.gpus.size(), OrderedJson::array()),
                    std::vector<std::vector<HeldSlice>>(node.gpus.size()), OrderedJson::array()};
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned)) {
        OrderedJson& row = held.kubelet.emplace_back(holder(*holding, container));
        row["resource"] = units->resource;
        row["count"] = units->count;
        continue;
      }
      for (const model::ReservedDevice& device : std::get<Devices>(container.assigned)) {
        const std::optional<std::size_t> gpu = node.find_gpu(device);
        if (!gpu) continue;
        if (device.slice) held.slices[*gpu].push_back({*device.slice, holder(*holding, container)});
        OrderedJson& row = held.holders[*gpu].emplace_back(holder(*holding, container));
        row["memoryMiB"] = device.memory.value;
        row["computeMilli"] = device.compute.value;
      }
    }
  }
  return held;
}

OrderedJson slice_json(const model::Slice& slice) {
  OrderedJson json{{"profile", slice.profile}, {"start", slice.start}, {"size", slice.size}};
  if (!slice.uuid.empty()) json["uuid"] = slice.uuid;
  return json;
}

/// Returns the slices of the GPU and their holders. Null if the GPU is not in MIG mode or its MIG
/// table is unknown.
OrderedJson slices_json(const model::GpuInfo& gpu, const std::vector<HeldSlice>& held) {
  if (!gpu.mig_enabled || !gpu.mig_table) return nullptr;
  // Start and size do not identify a slice, because several profiles can have the same size. Two
  // spellings of a profile's name count as the same profile.
  const auto same = [&](const model::Slice& a, const model::Slice& b) {
    const bool same_profile =
        a.profile == b.profile ||
        (gpu.mig_table->find_profile(a.profile).has_value() &&
         gpu.mig_table->find_profile(a.profile) == gpu.mig_table->find_profile(b.profile));
    return a.start == b.start && a.size == b.size && same_profile;
  };
  std::vector<model::Slice> slices = gpu.mig_instances;
  OrderedJson instances = OrderedJson::array();
  for (const model::Slice& slice : slices) instances.push_back(slice_json(slice));
  for (const HeldSlice& taken : held) {
    // Several containers of a pod can hold the same slice. The row of the slice then shows the last
    // of them.
    std::size_t at = 0;
    const auto others = [&] {
      const auto holder = instances[at].find("holder");
      return holder != instances[at].end() && (*holder)["uid"] != taken.holder["uid"];
    };
    while (at < slices.size() && (!same(slices[at], taken.slice) || others())) ++at;
    if (at == slices.size()) {
      slices.push_back(taken.slice);
      instances.push_back(slice_json(taken.slice));
    }
    instances[at]["holder"] = taken.holder;
  }
  return {{"axis", gpu.mig_table->memory_slices}, {"instances", std::move(instances)}};
}

/// Returns why the GPU is closed; empty if it is open. If the GPU is closed because its MIG table
/// is unknown, and its model is that of a MIG card, the text also gives the memory of the card and
/// of the GPU.
std::string closed_text(const model::GpuState& gpu) {
  std::string text(model::to_string(gpu.closure));
  if (gpu.closure != model::GpuClosure::kNoMigTable) return text;
  std::string named;
  for (const mig::MigCard* card : mig::mig_cards_named(gpu.info->model)) {
    named += (named.empty() ? "" : " or ") + card->name + " with " +
             std::to_string(card->memory.value) + " MiB";
  }
  if (named.empty()) return text;
  return text + ": the model means " + named + ", but memoryMiB is " +
         std::to_string(gpu.info->memory.value);
}

OrderedJson node_json(const model::NodeState& node) {
  HoldersByGpu held = collect_holders(node);
  OrderedJson json{{"name", node.name()},
                   {"pool", model::to_string(node.inventory->pool)},
                   {"closed", text_or_null(closed_text(node))},
                   {"gpus", OrderedJson::array()}};
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::GpuState& gpu = node.gpus[i];
    OrderedJson& row = json["gpus"].emplace_back();
    row["index"] = gpu.info->index;
    row["uuid"] = gpu.info->uuid;
    row["model"] = gpu.info->model;
    row["memoryMiB"] = gpu.memory.value;
    row["healthy"] = gpu.info->healthy;
    row["closed"] = text_or_null(closed_text(gpu));
    row["mode"] = model::to_string(gpu.mode);
    row["usedMemoryMiB"] = gpu.used_memory.value;
    row["usedComputeMilli"] = gpu.used_compute.value;
    row["holders"] = std::move(held.holders[i]);
    OrderedJson slices = slices_json(*gpu.info, held.slices[i]);
    if (!slices.is_null()) row["slices"] = std::move(slices);
  }
  json["kubeletAssigned"] = std::move(held.kubelet);
  return json;
}

std::vector<const model::NodeState*> select_nodes(const model::Snapshot& snapshot,
                                                  std::optional<std::string_view> only) {
  std::vector<const model::NodeState*> nodes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node != nullptr && (!only || node->name() == *only)) nodes.push_back(node.get());
  }
  std::ranges::sort(nodes, {},
                    [](const model::NodeState* node) -> std::string_view { return node->name(); });
  return nodes;
}

}  // namespace

std::optional<std::string> write_nodes(const model::Snapshot& snapshot,
                                       std::optional<std::string_view> only) {
  const auto nodes = select_nodes(snapshot, only);
  if (only && nodes.empty()) return std::nullopt;
  // Writes node by node, so that the JSON tree of a large cluster is never in memory as a whole.
  std::string text =
      "{\"generation\":" + std::to_string(snapshot.generation.value) + ",\"nodes\":[";
  for (const model::NodeState* node : nodes) {
    if (node != nodes.front()) text += ',';
    text += dump(node_json(*node));
  }
  return text + "]}";
}

std::string write_pods(base::Generation generation, std::span<const PodRow> rows) {
  std::string text = "{\"generation\":" + std::to_string(generation.value) + ",\"pods\":[";
  for (const PodRow& row : rows) {
    OrderedJson json{{"namespace", row.name_space}, {"pod", row.pod}, {"uid", row.uid}};
    if (!row.node.empty()) json["node"] = row.node;
    json["state"] = row.state;
    if (!row.reason.empty()) json["reason"] = row.reason;
    json["request"] = row.request_text;
    if (&row != rows.data()) text += ',';
    text += dump(json);
    if (row.holding != nullptr && !row.holding->reservation.containers.empty()) {
      text.back() = ',';  // replaces the closing brace of the object
      text += "\"reservation\":";
      append_reservation(text, row.holding->reservation);
      text += '}';
    }
  }
  return text + "]}";
}

}  // namespace snug::codec
