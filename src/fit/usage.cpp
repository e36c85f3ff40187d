#include "snug/fit/usage.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "fit/gpu_modes.hpp"
#include "fit/plausible.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/fit/pod_charge.hpp"
#include "snug/fit/tenant.hpp"

namespace snug {
namespace {

/// A shared GPU goes on in its mode while the operator still allows it, and takes no other until it
/// is empty.
GpuMode kept_sharing_mode(const GpuState& gpu) {
  return allows(*gpu.info, gpu.mode) ? gpu.mode : GpuMode::kNone;
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

bool outranked_by_over_commit(GpuClosure closure) {
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
      node.gpus.push_back(
          {.info = &gpu,
           .memory = gpu.memory,
           .sharing = opened_as(gpu),
           .takes_whole = allows(gpu, GpuMode::kWhole),
           .shares_both = allows(gpu, GpuMode::kTimeSlicing) && allows(gpu, GpuMode::kMps),
           .closure = gpu.healthy ? GpuClosure::kOpen : GpuClosure::kUnhealthy,
           .model = first_of_model(inventory, gpu.model)});
    }
    rounded_.resize(node.gpus.size());
  }

  void add(const Holding& holding) {
    bool devices = false;
    const std::vector<ReservedContainer>& containers = holding.reservation.containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
      const ReservedContainer& container = containers[c];
      const std::optional<ContainerRequest>* known =
          c < holding.asks.size() ? &holding.asks[c] : nullptr;
      const ContainerRequest* asked = known != nullptr && known->has_value() ? &**known : nullptr;
      if (const auto* units = std::get_if<KubeletUnits>(&container.given)) {
        node_.kubelet_used[units->resource] += units->count;
        kubelet_ = true;
        continue;
      }
      for (const ReservedDevice& device : std::get<std::vector<ReservedDevice>>(container.given)) {
        const Taken taken =
            take(device, {.asked = asked, .kind = holding.kind_of(c)}, holding.suspect);
        touched_.push_back(taken.gpu);
        if (containers.size() == 1) {
          count(node_.gpus[taken.gpu], taken.cost);
        } else {
          by_gpu_[taken.gpu].add(holding.kind_of(c), c, taken.cost);
        }
        devices = true;
      }
    }
    for (const auto& [gpu, charge] : by_gpu_) count(node_.gpus[gpu], charge.total());
    by_gpu_.clear();
    own_slices_.clear();
    spread_over_gpus(holding.host);
    node_.host_used += holding.host;
    ++node_.pods;
    node_.snug_assigned += devices ? 1 : 0;
    node_.kubelet_assigned += std::exchange(kubelet_, false) ? 1 : 0;
    node_.unplaced += holding.unplaced ? 1 : 0;
  }

  void finish() {
    for (std::size_t i = 0; i < node_.vanished.size(); ++i) {
      node_.gpus[node_.inventory->gpus.size() + i].info = &node_.vanished[i];
    }
    for (const auto& [resource, units] : node_.kubelet_used) {
      node_.kubelet_milli += units * unit_compute(*node_.inventory, resource).value;
    }
    node_.annotated_gate = gate_for_annotated(node_);
    node_.kubelet_gate = gate_for_kubelet(node_);
    node_.conflict = conflict_of(node_);
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      GpuState& gpu = node_.gpus[i];
      if (shares(gpu.mode)) gpu.sharing = kept_sharing_mode(gpu);
      if (is_over_committed(i)) over_commit(gpu);
      const bool no_table = gpu.info->mig && !gpu.info->mig_table;
      if (gpu.closure == GpuClosure::kOpen && no_table) gpu.closure = GpuClosure::kNoMigTable;
      if (gpu.closure != GpuClosure::kOpen || gpu.memory.value <= 0) continue;
      set_room(gpu);
      node_.room += gpu.room;
      node_.left += gpu.left;
    }
    node_.left = std::max<std::int64_t>(0, node_.left - node_.kubelet_milli);
  }

 private:
  struct Taken {
    std::size_t gpu = 0;
    Charge cost;
  };
  struct Holder {
    const ContainerRequest* asked = nullptr;  // null: not known
    ContainerKind kind = ContainerKind::kApp;
  };
  struct OwnSlice {
    std::size_t gpu = 0;
    MigPlacement slice;
    ContainerKind kind = ContainerKind::kApp;
  };

  /// The holding's part in the crowd of each GPU that it has.
  void spread_over_gpus(const HostAmounts& host) {
    std::ranges::sort(touched_);
    const auto twice = std::ranges::unique(touched_);
    touched_.erase(twice.begin(), twice.end());
    const auto gpus = static_cast<std::int64_t>(touched_.size());
    for (const std::size_t position : touched_) {
      GpuState& gpu = node_.gpus[position];
      gpu.crowd += static_cast<std::int32_t>(kCrowdOfPod / gpus);
      gpu.host += {host.cpu_milli / gpus, host.memory_bytes / gpus};
    }
    touched_.clear();
  }

  /// False for a GPU with slices: take_slice() sees whether two of them overlap. What rounding
  /// explains is less than 1 MiB for each share by fraction.
  [[nodiscard]] bool is_over_committed(std::size_t position) const {
    const GpuState& gpu = node_.gpus[position];
    if (takes_slices(*gpu.info)) return false;
    const std::int64_t over = (gpu.used_memory - gpu.memory).value;
    return over > std::max<std::int64_t>(0, rounded_[position] - 1) || gpu.used_compute > kWholeGpu;
  }

  static void over_commit(GpuState& gpu) {
    if (outranked_by_over_commit(gpu.closure)) gpu.closure = GpuClosure::kOverCommitted;
  }

  /// In MIG mode there is none for slices of an unknown table.
  void set_room(GpuState& gpu) const {
    if (gpu.info->mig && !takes_slices(*gpu.info)) return;
    if (takes_slices(*gpu.info)) {
      const MigFree free = mig_free(*node_.inventory, gpu);
      gpu.left = axis_thousandths(*free.table, free.idle());
      gpu.room = 2 * gpu.left;
      return;
    }
    const Charge left{.memory = std::max(MebiBytes{0}, gpu.free_memory()),
                      .compute = gpu.free_compute()};
    gpu.room = left.room(gpu.memory);
    gpu.left = left_beside(gpu, {});
  }

  static void count(GpuState& gpu, const Charge& cost) {
    gpu.used_memory += cost.memory;
    gpu.used_compute += cost.compute;
  }

  Taken take(const ReservedDevice& device, const Holder& holder, bool suspect) {
    const std::size_t position = find(device);
    GpuState& gpu = node_.gpus[position];
    const bool conflict = gpu.mode != GpuMode::kNone && gpu.mode != device.mode;
    if (gpu.mode == GpuMode::kNone) gpu.mode = device.mode;
    CountedDevice counted = count_device(device, holder.asked, gpu);
    if (counted.rounded) ++rounded_[position];
    if (gpu.closure != GpuClosure::kVanished) {
      if (takes_slices(*gpu.info)) {
        if (device.slice) {
          take_slice(position, *device.slice, holder, counted);
        } else {
          counted.suspect = true;
        }
      } else if (gpu.info->mig && device.slice) {
        take_unknown(position, *device.slice, holder.kind);
      }
    }
    if (gpu.closure == GpuClosure::kOpen) {
      if (suspect || counted.suspect) gpu.closure = GpuClosure::kSuspect;
      if (conflict) gpu.closure = GpuClosure::kModeConflict;
    }
    return {position, counted.cost};
  }

  /// `counted` becomes suspect if this is no slice of the card, or none that serves what was asked.
  void take_slice(std::size_t position, const Slice& slice, const Holder& holder,
                  CountedDevice& counted) {
    GpuState& gpu = node_.gpus[position];
    const MigTable& table = *gpu.info->mig_table;
    const std::optional<MigPlacement> placement = placement_of(table, slice);
    if (!placement) {
      const bool on_axis = slice.start + slice.size <= table.axis;
      const AxisMask range =
          on_axis ? axis_range(slice.start, slice.size) : axis_range(0, table.axis);
      if ((gpu.mig.taken & range) != 0) over_commit(gpu);
      gpu.mig.taken |= range;
      counted.suspect = true;
      return;
    }
    const CountedDevice as_slice =
        count_slice(table, placement->profile, holder.asked, counted.cost);
    counted.cost = as_slice.cost;
    counted.suspect = counted.suspect || as_slice.suspect;
    if (!take_own({position, *placement, holder.kind})) return;
    if (!has_room(table, gpu.mig, *placement)) over_commit(gpu);
    gpu.mig = with_slice(table, gpu.mig, *placement);
    const bool changed = !exists(gpu, *placement, slice.uuid);
    if (changed && gpu.closure == GpuClosure::kOpen) gpu.closure = GpuClosure::kChanged;
  }

  /// Of a card whose table is not known.
  void take_unknown(std::size_t position, const Slice& slice, ContainerKind kind) {
    const MigPlacement instead{static_cast<std::uint16_t>(slice.size),
                               static_cast<std::uint16_t>(slice.start)};
    if (!take_own({position, instead, kind})) return;
    GpuState& gpu = node_.gpus[position];
    const bool on_axis = slice.start + slice.size <= kMostAxisSlices;
    const AxisMask range =
        axis_range(on_axis ? slice.start : 0, on_axis ? slice.size : kMostAxisSlices);
    if ((gpu.mig.taken & range) != 0) over_commit(gpu);
    gpu.mig.taken |= range;
  }

  /// False: another container of the pod has it already. Only a plain init container may have it
  /// too, before the app, or the init container, that it shares it with.
  bool take_own(const OwnSlice& own) {
    bool is_new = true;
    for (const OwnSlice& other : own_slices_) {
      if (other.gpu != own.gpu || other.slice != own.slice) continue;
      is_new = false;
      const bool init = own.kind == ContainerKind::kInit || other.kind == ContainerKind::kInit;
      const bool sidecar =
          own.kind == ContainerKind::kSidecar || other.kind == ContainerKind::kSidecar;
      if (!init || sidecar) over_commit(node_.gpus[own.gpu]);
    }
    own_slices_.push_back(own);
    return is_new;
  }

  /// On a GPU whose agent makes what is reserved every slice will.
  [[nodiscard]] bool exists(const GpuState& gpu, MigPlacement slice, std::string_view uuid) const {
    return node_.inventory->dynamic_mig ||
           std::ranges::any_of(gpu.info->mig_instances, [&](const Slice& known) {
             return placement_of(*gpu.info->mig_table, known) == slice &&
                    (known.uuid.empty() || uuid.empty() || known.uuid == uuid);
           });
  }

  std::size_t find(const ReservedDevice& device) {
    const auto position = node_.inventory->gpu_of(device.index, device.uuid);
    if (!position) return find_vanished(device);
    GpuState& gpu = node_.gpus[*position];
    const bool changed =
        !device.uuid.empty() && !gpu.info->uuid.empty() && gpu.info->uuid != device.uuid;
    if (changed && gpu.closure == GpuClosure::kOpen) gpu.closure = GpuClosure::kChanged;
    return *position;
  }

  std::size_t find_vanished(const ReservedDevice& device) {
    const auto [known, is_new] =
        vanished_.try_emplace({device.index, device.uuid}, node_.gpus.size());
    if (is_new) {
      node_.vanished.push_back({.index = device.index, .uuid = device.uuid, .healthy = false});
      node_.gpus.emplace_back(GpuState{.closure = GpuClosure::kVanished});
      rounded_.push_back(0);
    }
    return known->second;
  }

  NodeState& node_;
  /// Positions by index and uuid, which live in the holdings. Forged reservations may name many.
  std::map<std::pair<int, std::string_view>, std::size_t> vanished_;
  std::vector<int> rounded_;  // by GPU: how many shares by fraction its use is the sum of
  bool kubelet_ = false;
  std::vector<std::size_t> touched_;         // GPUs of the holding that is being added
  std::map<std::size_t, PodCharge> by_gpu_;  // of the holding that is being added
  std::vector<OwnSlice> own_slices_;         // of the holding that is being added
};

}  // namespace

NodeStatePtr add_up(std::shared_ptr<const NodeInventory> inventory,
                    std::vector<HoldingPtr> holdings, const HostHoldings& hosts) {
  auto node = std::make_shared<NodeState>();
  node->inventory = std::move(inventory);
  node->holdings = std::move(holdings);
  Adder adder(*node);
  for (const HoldingPtr& holding : node->holdings) adder.add(*holding);
  adder.finish();
  node->host_used += hosts.used;
  node->pods += hosts.pods;
  if (hosts.listed.empty()) {
    node->unlisted_host_used = hosts.used;
    node->unlisted_pods = hosts.pods;
  }
  node->holdings.insert(node->holdings.end(), hosts.listed.begin(), hosts.listed.end());
  return node;
}

NodeStatePtr with_holdings(const NodeState& node, std::vector<HoldingPtr> holdings) {
  return add_up(node.inventory, std::move(holdings),
                {.used = node.unlisted_host_used, .pods = node.unlisted_pods, .listed = {}});
}

}  // namespace snug
