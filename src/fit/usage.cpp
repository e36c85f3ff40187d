#include "snug/fit/usage.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "snug/fit/charge.hpp"

namespace snug {
namespace {

bool shares(GpuMode mode) { return mode == GpuMode::kTimeSlicing || mode == GpuMode::kMps; }

bool allows(const GpuInfo& gpu, GpuMode mode) {
  return std::find(gpu.modes.begin(), gpu.modes.end(), mode) != gpu.modes.end();
}

/// Slices are there in MIG mode only, and nothing else is.
bool may_hold(const GpuInfo& gpu, GpuMode mode) {
  return gpu.mig ? mode == GpuMode::kMig : allows(gpu, mode);
}

Charge larger(const Charge& a, const Charge& b) {
  return {.memory = std::max(a.memory, b.memory), .compute = std::max(a.compute, b.compute)};
}

GpuMode first_sharing_mode(const GpuInfo& gpu) {
  const auto found = std::find_if(gpu.modes.begin(), gpu.modes.end(), shares);
  return gpu.mig || found == gpu.modes.end() ? GpuMode::kNone : *found;
}

/// A shared GPU goes on in its mode while the operator still allows it, and takes no other until it
/// is empty.
GpuMode kept_sharing_mode(const GpuState& gpu) {
  return !gpu.info->mig && allows(*gpu.info, gpu.mode) ? gpu.mode : GpuMode::kNone;
}

std::uint16_t first_of_model(const NodeInventory& inventory, const std::string& model) {
  const auto first = std::find_if(inventory.gpus.begin(), inventory.gpus.end(),
                                  [&](const GpuInfo& gpu) { return gpu.model == model; });
  return static_cast<std::uint16_t>(first - inventory.gpus.begin());
}

ReasonCode gate_for_annotated(const NodeState& node) {
  const NodeInventory& inventory = *node.inventory;
  if (inventory.closed_to_all != ReasonCode::kNone) return inventory.closed_to_all;
  if (inventory.pool == Pool::kWhole) return ReasonCode::kWrongPool;
  if (inventory.closed_to_annotated != ReasonCode::kNone) return inventory.closed_to_annotated;
  if (inventory.gpus.empty()) return ReasonCode::kNoGpu;
  if (node.kubelet_assigned > 0) return ReasonCode::kOtherKind;
  return node.unplaced > 0 ? ReasonCode::kNodeClosed : ReasonCode::kNone;
}

ReasonCode gate_for_kubelet(const NodeState& node) {
  const NodeInventory& inventory = *node.inventory;
  if (inventory.closed_to_all != ReasonCode::kNone) return inventory.closed_to_all;
  if (inventory.pool == Pool::kShares) return ReasonCode::kWrongPool;
  return node.snug_assigned + node.unplaced > 0 ? ReasonCode::kOtherKind : ReasonCode::kNone;
}

bool says_less_than_over_committed(GpuClosure closure) {
  return closure == GpuClosure::kOpen || closure == GpuClosure::kUnhealthy ||
         closure == GpuClosure::kSuspect;
}

NodeConflict conflict_of(const NodeState& node) {
  if (node.snug_assigned > 0 && node.kubelet_assigned > 0) return NodeConflict::kMixedKinds;
  const auto& units = node.inventory->kubelet_capacity;
  const bool over = std::ranges::any_of(node.kubelet_used, [&](const auto& used) {
    const auto found = units.find(used.first);
    return used.second > (found == units.end() ? 0 : found->second);
  });
  return over ? NodeConflict::kUnitsOverTaken : NodeConflict::kNone;
}

/// `info` of a vanished GPU is set at the end, since `vanished` may still grow.
class Adder {
 public:
  explicit Adder(NodeState& node) : node_(node) {
    const NodeInventory& inventory = *node.inventory;
    node.gpus.reserve(inventory.gpus.size());
    for (const GpuInfo& gpu : inventory.gpus) {
      node.gpus.push_back({.info = &gpu,
                           .memory = gpu.memory,
                           .sharing = first_sharing_mode(gpu),
                           .takes_whole = !gpu.mig && allows(gpu, GpuMode::kWhole),
                           .closure = gpu.healthy ? GpuClosure::kOpen : GpuClosure::kUnhealthy,
                           .model = first_of_model(inventory, gpu.model)});
    }
  }

  void add(const Holding& holding) {
    bool devices = false;
    const std::vector<ReservedContainer>& containers = holding.reservation.containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
      const ReservedContainer& container = containers[c];
      const std::optional<Ask>* known = c < holding.asks.size() ? &holding.asks[c] : nullptr;
      const Ask* ask = known != nullptr && known->has_value() ? &known->value() : nullptr;
      if (const auto* units = std::get_if<KubeletUnits>(&container.given)) {
        node_.kubelet_used[units->resource] += units->count;
        kubelet_ = true;
        continue;
      }
      for (const ReservedDevice& device : std::get<std::vector<ReservedDevice>>(container.given)) {
        take(device, ask, holding.suspect);
        devices = true;
      }
    }
    node_.snug_assigned += devices ? 1 : 0;
    node_.kubelet_assigned += std::exchange(kubelet_, false) ? 1 : 0;
    node_.unplaced += holding.unplaced ? 1 : 0;
  }

  void finish() {
    for (std::size_t i = 0; i < node_.vanished.size(); ++i) {
      node_.gpus[node_.inventory->gpus.size() + i].info = &node_.vanished[i];
    }
    node_.annotated_gate = gate_for_annotated(node_);
    node_.kubelet_gate = gate_for_kubelet(node_);
    node_.conflict = conflict_of(node_);
    for (GpuState& gpu : node_.gpus) {
      if (shares(gpu.mode)) gpu.sharing = kept_sharing_mode(gpu);
      const bool over = gpu.used_memory > gpu.memory || gpu.used_compute > kWholeGpu;
      if (over && says_less_than_over_committed(gpu.closure)) {
        gpu.closure = GpuClosure::kOverCommitted;
      }
      if (gpu.closure != GpuClosure::kOpen || gpu.memory.value <= 0) continue;
      const Charge left{.memory = gpu.free_memory(), .compute = gpu.free_compute()};
      gpu.room = left.room(gpu.memory);
      node_.room += gpu.room;
    }
  }

 private:
  void take(const ReservedDevice& device, const Ask* ask, bool suspect) {
    GpuState& gpu = find(device);
    const bool conflict = gpu.mode != GpuMode::kNone && gpu.mode != device.mode;
    if (gpu.mode == GpuMode::kNone) gpu.mode = device.mode;
    const Charge stated{.memory = device.memory, .compute = device.compute};
    Charge counted = stated;
    // Whatever a reservation says of its size, a whole GPU is a whole GPU.
    if (device.mode == GpuMode::kWhole) {
      counted = {.memory = gpu.memory.value > 0 ? gpu.memory : stated.memory, .compute = kWholeGpu};
    }
    if (gpu.closure != GpuClosure::kVanished) {
      const bool sized = ask != nullptr && device.mode != GpuMode::kMig;
      if (sized && !plausible(*ask, stated, gpu.memory)) {
        counted = larger(larger(counted, stated), charge(*ask, gpu.memory));
        suspect = true;
      }
      suspect = suspect || !may_hold(*gpu.info, device.mode);
    }
    gpu.used_memory += counted.memory;
    gpu.used_compute += counted.compute;
    if (gpu.closure != GpuClosure::kOpen) return;
    if (suspect) gpu.closure = GpuClosure::kSuspect;
    if (conflict) gpu.closure = GpuClosure::kModeConflict;
  }

  GpuState& find(const ReservedDevice& device) {
    const auto position = node_.inventory->gpu_of(device.index, device.uuid);
    if (!position) return find_vanished(device);
    GpuState& gpu = node_.gpus[*position];
    const bool changed =
        !device.uuid.empty() && !gpu.info->uuid.empty() && gpu.info->uuid != device.uuid;
    if (changed && gpu.closure == GpuClosure::kOpen) gpu.closure = GpuClosure::kChanged;
    return gpu;
  }

  GpuState& find_vanished(const ReservedDevice& device) {
    const auto [known, is_new] =
        vanished_.try_emplace({device.index, device.uuid}, node_.gpus.size());
    if (!is_new) return node_.gpus[known->second];
    node_.vanished.push_back({.index = device.index, .uuid = device.uuid, .healthy = false});
    return node_.gpus.emplace_back(GpuState{.closure = GpuClosure::kVanished});
  }

  NodeState& node_;
  /// Positions by index and uuid, which live in the holdings. Forged reservations may name many.
  std::map<std::pair<int, std::string_view>, std::size_t> vanished_;
  bool kubelet_ = false;
};

}  // namespace

NodeStatePtr add_up(std::shared_ptr<const NodeInventory> inventory,
                    std::vector<HoldingPtr> holdings) {
  auto node = std::make_shared<NodeState>();
  node->inventory = std::move(inventory);
  node->holdings = std::move(holdings);
  Adder adder(*node);
  for (const HoldingPtr& holding : node->holdings) adder.add(*holding);
  adder.finish();
  return node;
}

}  // namespace snug
