#include "snug/codec/admin_state_codec.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "codec/json_writer.hpp"
#include "snug/base/text.hpp"
#include "snug/fit/tenant.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/usage/node_room.hpp"

namespace snug::codec {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string reply_text(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson reason_or_null(const std::string& closed_reason) {
  return closed_reason.empty() ? OrderedJson(nullptr) : OrderedJson(closed_reason);
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
  // Then no container with GPUs starts, whoever assigns them.
  if (node.annotated_refusal == model::ReasonCode::kAgentAway ||
      node.kubelet_refusal == model::ReasonCode::kAgentAway)
    return model::message(model::ReasonCode::kAgentAway);
  if (inventory.closed_to_annotated != model::ReasonCode::kNone) {
    return "to annotated pods: " + with_details(inventory.closed_to_annotated);
  }
  if (node.conflict != model::NodeConflict::kNone)
    return std::string(model::to_string(node.conflict));
  if (node.unplaced_pods > 0)
    return "to annotated pods: " + model::message(model::ReasonCode::kNodeClosed);
  return {};
}

/// What the node's agent says of itself, and whether it lives. Null if the node has no agent.
OrderedJson agent_json(const model::NodeInventory& inventory) {
  if (!inventory.enforcement) return nullptr;
  OrderedJson agent{{"enforcement", model::kEnforcementNames[*inventory.enforcement]}};
  if (inventory.share_limits) agent["limits"] = model::kShareLimitsNames[*inventory.share_limits];
  agent["alive"] = inventory.agent_alive;
  return agent;
}

OrderedJson holder_json(const model::Holding& holding, const model::ReservedContainer& container) {
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
  std::vector<OrderedJson> device_holders;  // each is a JSON array
  std::vector<std::vector<HeldSlice>> held_slices;
  OrderedJson kubelet_holders = OrderedJson::array();  // holders of units that the kubelet assigns
};

HoldersByGpu collect_holders(const model::NodeState& node) {
  HoldersByGpu node_holders{std::vector<OrderedJson>(node.gpus.size(), OrderedJson::array()),
                            std::vector<std::vector<HeldSlice>>(node.gpus.size()),
                            OrderedJson::array()};
  for (const model::HoldingPtr& holding : node.holdings) {
    for (const model::ReservedContainer& container : holding->reservation.containers) {
      if (const auto* kubelet_units = std::get_if<model::KubeletUnits>(&container.assigned)) {
        OrderedJson& unit_holder =
            node_holders.kubelet_holders.emplace_back(holder_json(*holding, container));
        unit_holder["resource"] = kubelet_units->resource;
        unit_holder["count"] = kubelet_units->count;
        continue;
      }
      for (const model::ReservedDevice& device : container.devices()) {
        const std::optional<std::size_t> gpu_position = node.find_gpu(device);
        if (!gpu_position) continue;
        if (device.slice) {
          node_holders.held_slices[*gpu_position].push_back(
              {*device.slice, holder_json(*holding, container)});
        }
        OrderedJson& gpu_holder = node_holders.device_holders[*gpu_position].emplace_back(
            holder_json(*holding, container));
        gpu_holder["memoryMiB"] = device.memory.value;
        gpu_holder["computeMilli"] = device.compute.value;
      }
    }
  }
  return node_holders;
}

OrderedJson slice_json(const model::Slice& slice) {
  OrderedJson slice_row{{"profile", slice.profile}, {"start", slice.start}, {"size", slice.size}};
  if (!slice.uuid.empty()) slice_row["uuid"] = slice.uuid;
  return slice_row;
}

/// Returns the slices of the GPU and their holders. Null if the GPU is not in MIG mode or its MIG
/// table is unknown.
OrderedJson slices_json(const model::GpuInfo& gpu, const std::vector<HeldSlice>& held_slices) {
  if (!gpu.mig_enabled || !gpu.mig_table) return nullptr;
  // Start and size do not identify a slice, because several profiles can have the same size. Two
  // spellings of a profile's name count as the same profile.
  const auto is_same_slice = [&](const model::Slice& a, const model::Slice& b) {
    const bool same_profile =
        a.profile == b.profile ||
        (gpu.mig_table->find_profile(a.profile).has_value() &&
         gpu.mig_table->find_profile(a.profile) == gpu.mig_table->find_profile(b.profile));
    return a.start == b.start && a.size == b.size && same_profile;
  };
  std::vector<model::Slice> listed_slices = gpu.mig_instances;
  OrderedJson slice_rows = OrderedJson::array();
  for (const model::Slice& slice : listed_slices) slice_rows.push_back(slice_json(slice));
  for (const HeldSlice& held_slice : held_slices) {
    // Several containers of a pod can hold the same slice. The row of the slice then shows the last
    // of them.
    std::size_t row = 0;
    const auto has_other_holder = [&] {
      const auto slice_holder = slice_rows[row].find("holder");
      return slice_holder != slice_rows[row].end() &&
             (*slice_holder)["uid"] != held_slice.holder["uid"];
    };
    while (row < listed_slices.size() &&
           (!is_same_slice(listed_slices[row], held_slice.slice) || has_other_holder())) {
      ++row;
    }
    if (row == listed_slices.size()) {
      listed_slices.push_back(held_slice.slice);
      slice_rows.push_back(slice_json(held_slice.slice));
    }
    slice_rows[row]["holder"] = held_slice.holder;
  }
  return {{"axis", gpu.mig_table->memory_slices}, {"instances", std::move(slice_rows)}};
}

/// Returns why the GPU is closed; empty if it is open. If the GPU is closed because its MIG table
/// is unknown, and its model is that of a MIG card, the text also gives the memory of the card and
/// of the GPU.
std::string closed_text(const model::GpuState& gpu) {
  std::string closure_text(model::to_string(gpu.closure));
  if (gpu.closure != model::GpuClosure::kNoMigTable) return closure_text;
  std::string card_sizes;
  for (const mig::MigCard* card : mig::mig_cards_named(gpu.info->model)) {
    card_sizes += (card_sizes.empty() ? "" : " or ") + card->name + " with " +
                  std::to_string(card->memory.value) + " MiB";
  }
  if (card_sizes.empty()) return closure_text;
  return closure_text + ": the model means " + card_sizes + ", but memoryMiB is " +
         std::to_string(gpu.info->memory.value);
}

OrderedJson node_json(const model::NodeState& node) {
  HoldersByGpu node_holders = collect_holders(node);
  const std::vector<bool> free_whole = usage::free_whole_gpus(node);
  OrderedJson node_row{{"name", node.name()},
                       {"pool", model::to_string(node.inventory->pool)},
                       {"closed", reason_or_null(closed_text(node))}};
  if (OrderedJson agent = agent_json(*node.inventory); !agent.is_null())
    node_row["agent"] = std::move(agent);
  if (const auto enforcer = node.inventory->other_enforcer)
    node_row["enforcer"] = model::kOtherEnforcerNames[*enforcer];
  node_row["gpus"] = OrderedJson::array();
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::GpuState& gpu = node.gpus[i];
    OrderedJson& gpu_row = node_row["gpus"].emplace_back();
    gpu_row["index"] = gpu.info->index;
    gpu_row["uuid"] = gpu.info->uuid;
    gpu_row["model"] = gpu.info->model;
    gpu_row["memoryMiB"] = gpu.memory.value;
    gpu_row["healthy"] = gpu.info->healthy;
    gpu_row["closed"] = reason_or_null(closed_text(gpu));
    gpu_row["freeWhole"] = static_cast<bool>(free_whole[i]);
    gpu_row["mode"] = model::to_string(gpu.mode);
    gpu_row["usedMemoryMiB"] = gpu.used_memory.value;
    gpu_row["usedComputeMilli"] = gpu.used_compute.value;
    gpu_row["holders"] = std::move(node_holders.device_holders[i]);
    OrderedJson slice_rows = slices_json(*gpu.info, node_holders.held_slices[i]);
    if (!slice_rows.is_null()) gpu_row["slices"] = std::move(slice_rows);
  }
  node_row["kubeletAssigned"] = std::move(node_holders.kubelet_holders);
  node_row["kubeletComputeMilli"] = node.kubelet_milli;
  return node_row;
}

using NodeList = std::vector<const model::NodeState*>;

void sort_by_name(NodeList& nodes) {
  std::ranges::sort(nodes, {},
                    [](const model::NodeState* node) -> std::string_view { return node->name(); });
}

NodeList select_nodes(const model::Snapshot& snapshot, std::optional<std::string_view> only_node) {
  NodeList listed_nodes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node != nullptr && (!only_node || node->name() == *only_node))
      listed_nodes.push_back(node.get());
  }
  sort_by_name(listed_nodes);
  return listed_nodes;
}

/// Appends `"nodes":[…]`. Writes node by node, so that the JSON tree of a large cluster is never in
/// memory as a whole.
void append_nodes(std::string& reply, const NodeList& listed_nodes) {
  reply += "\"nodes\":[";
  for (const model::NodeState* node : listed_nodes) {
    if (node != listed_nodes.front()) reply += ',';
    reply += reply_text(node_json(*node));
  }
  reply += ']';
}

/// Returns the number in a version that write_changed_nodes() has written; nullopt if `version` is
/// none of this process.
std::optional<std::int64_t> own_version(std::string_view version, std::string_view instance) {
  if (!version.starts_with(instance)) return std::nullopt;
  version.remove_prefix(instance.size());
  if (!version.starts_with('-')) return std::nullopt;
  return base::parse_integer(version.substr(1));
}

}  // namespace

std::optional<std::string> write_nodes(const model::Snapshot& snapshot,
                                       std::optional<std::string_view> only_node) {
  const auto listed_nodes = select_nodes(snapshot, only_node);
  if (only_node && listed_nodes.empty()) return std::nullopt;
  std::string reply = "{\"generation\":" + std::to_string(snapshot.generation.value) + ',';
  append_nodes(reply, listed_nodes);
  return reply + '}';
}

std::string write_changed_nodes(const model::Snapshot& snapshot, std::string_view instance,
                                std::string_view since) {
  const std::optional<std::int64_t> known_version = own_version(since, instance);
  std::int64_t newest_version = 0;
  std::size_t total = 0;
  NodeList changed_nodes;
  for (std::size_t slot = 0; slot < snapshot.nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot.nodes[slot];
    if (node == nullptr) continue;
    ++total;
    // Versions grow over the whole ledger, not in each slot alone.
    const auto version = static_cast<std::int64_t>(snapshot.nodes.version(slot));
    newest_version = std::max(newest_version, version);
    if (!known_version || version > *known_version) changed_nodes.push_back(node.get());
  }
  sort_by_name(changed_nodes);
  std::string reply = "{\"generation\":" + std::to_string(snapshot.generation.value) +
                      ",\"version\":\"" + std::string(instance) + '-' +
                      std::to_string(newest_version) +
                      "\",\"complete\":" + (known_version ? "false" : "true") +
                      ",\"total\":" + std::to_string(total) + ',';
  append_nodes(reply, changed_nodes);
  return reply + '}';
}

std::string write_pods(base::Generation generation, std::span<const PodRow> rows) {
  std::string reply = "{\"generation\":" + std::to_string(generation.value) + ",\"pods\":[";
  for (const PodRow& pod_row : rows) {
    OrderedJson pod_json{
        {"namespace", pod_row.name_space}, {"pod", pod_row.pod}, {"uid", pod_row.uid}};
    if (!pod_row.node.empty()) pod_json["node"] = pod_row.node;
    pod_json["state"] = pod_row.state;
    if (!pod_row.reason.empty()) pod_json["reason"] = pod_row.reason;
    pod_json["request"] = pod_row.request_text;
    if (&pod_row != rows.data()) reply += ',';
    reply += reply_text(pod_json);
    if (pod_row.holding != nullptr && !pod_row.holding->reservation.containers.empty()) {
      reply.back() = ',';  // replaces the closing brace of the object
      const fit::Charge held = fit::held_charge(*pod_row.holding, nullptr);
      reply += "\"memoryMiB\":" + std::to_string(held.memory.value) +
               ",\"computeMilli\":" + std::to_string(held.compute.value) + ',';
      reply += "\"reservation\":";
      append_reservation(reply, pod_row.holding->reservation);
      reply += '}';
    }
  }
  return reply + "]}";
}

}  // namespace snug::codec
