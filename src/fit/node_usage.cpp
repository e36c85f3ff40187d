#include "snug/fit/node_usage.hpp"

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

namespace snug::fit {
namespace {

/// The mode in which a GPU that is already shared serves further shares: its present mode, or kNone
/// if the operator no longer allows this mode.
model::GpuMode kept_sharing_mode(const model::GpuState& gpu) {
  return allows(*gpu.info, gpu.mode) ? gpu.mode : model::GpuMode::kNone;
}

std::uint16_t first_of_model(const model::NodeInventory& inventory, const std::string& model) {
  const auto first = std::find_if(inventory.gpus.begin(), inventory.gpus.end(),
                                  [&](const model::GpuInfo& gpu) { return gpu.model == model; });
  return static_cast<std::uint16_t>(first - inventory.gpus.begin());
}

/// Whether the node's runtime would refuse containers with GPUs now.
bool lacks_its_agent(const model::NodeInventory& inventory) {
  return inventory.enforcement == model::Enforcement::kFailClosed && !inventory.agent_alive;
}

model::ReasonCode gate_for_annotated(const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  if (inventory.closed_to_all != model::ReasonCode::kNone) return inventory.closed_to_all;
  if (inventory.pool == model::Pool::kWhole) return model::ReasonCode::kWrongPool;
  if (inventory.closed_to_annotated != model::ReasonCode::kNone)
    return inventory.closed_to_annotated;
  if (inventory.gpus.empty()) return model::ReasonCode::kNoGpu;
  if (node.unplaced_pods > 0) return model::ReasonCode::kNodeClosed;
  if (lacks_its_agent(inventory)) return model::ReasonCode::kAgentAway;
  return node.kubelet_assigned_pods > 0 ? model::ReasonCode::kOtherKind : model::ReasonCode::kNone;
}

model::ReasonCode gate_for_kubelet(const model::NodeState& node) {
  const model::NodeInventory& inventory = *node.inventory;
  if (inventory.closed_to_all != model::ReasonCode::kNone) return inventory.closed_to_all;
  if (inventory.pool == model::Pool::kShares) return model::ReasonCode::kWrongPool;
  if (lacks_its_agent(inventory)) return model::ReasonCode::kAgentAway;
  return node.snug_assigned_pods + node.unplaced_pods > 0 ? model::ReasonCode::kOtherKind
                                                          : model::ReasonCode::kNone;
}

bool outranked_by_over_commit(model::GpuClosure closure) {
  return closure == model::GpuClosure::kOpen || closure == model::GpuClosure::kUnhealthy ||
         closure == model::GpuClosure::kSuspect;
}

model::NodeConflict conflict_of(const model::NodeState& node) {
  if (node.snug_assigned_pods > 0 && node.kubelet_assigned_pods > 0)
    return model::NodeConflict::kMixedAssigners;
  const auto& units = node.inventory->kubelet_capacity;
  const bool units_over_committed =
      std::ranges::any_of(node.kubelet_used, [&](const auto& used_units) {
        const auto capacity = units.find(used_units.first);
        return used_units.second > (capacity == units.end() ? 0 : capacity->second);
      });
  return units_over_committed ? model::NodeConflict::kUnitsOverCommitted
                              : model::NodeConflict::kNone;
}

/// Adds holdings to a node state. Only finish() sets GpuState::info of vanished GPUs, because this
/// pointer points into NodeState::vanished, which grows while holdings are added.
class NodeStateBuilder {
 public:
  explicit NodeStateBuilder(model::NodeState& node) : node_(node) {
    const model::NodeInventory& inventory = *node.inventory;
    node.gpus.reserve(inventory.gpus.size());
    for (const model::GpuInfo& gpu : inventory.gpus) {
      node.gpus.push_back(
          {.info = &gpu,
           .memory = gpu.memory,
           .sharing_mode = opened_as(gpu),
           .allows_whole = allows(gpu, model::GpuMode::kWhole),
           .allows_both_sharing_modes =
               allows(gpu, model::GpuMode::kTimeSlicing) && allows(gpu, model::GpuMode::kMps),
           .closure = gpu.healthy ? model::GpuClosure::kOpen : model::GpuClosure::kUnhealthy,
           .model_group = first_of_model(inventory, gpu.model)});
    }
    fraction_shares_.resize(node.gpus.size());
  }

  void add(const model::Holding& holding) {
    bool devices = false;
    const std::vector<model::ReservedContainer>& containers = holding.reservation.containers;
    for (std::size_t c = 0; c < containers.size(); ++c) {
      const model::ReservedContainer& container = containers[c];
      const std::optional<model::ContainerRequest>* parsed_request =
          c < holding.container_requests.size() ? &holding.container_requests[c] : nullptr;
      const model::ContainerRequest* container_request =
          parsed_request != nullptr && parsed_request->has_value() ? &**parsed_request : nullptr;
      if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned)) {
        node_.kubelet_used[units->resource] += units->count;
        kubelet_ = true;
        continue;
      }
      for (const model::ReservedDevice& device : container.devices()) {
        const GpuCost taken =
            take_device(device, {.request = container_request, .type = holding.container_type(c)},
                        holding.suspect);
        holding_gpus_.push_back(taken.gpu);
        if (containers.size() == 1) {
          count(node_.gpus[taken.gpu], taken.cost);
        } else {
          by_gpu_[taken.gpu].add(holding.container_type(c), c, taken.cost);
        }
        devices = true;
      }
    }
    for (const auto& [gpu, charge] : by_gpu_) count(node_.gpus[gpu], charge.total());
    by_gpu_.clear();
    own_slices_.clear();
    spread_over_gpus(holding.host);
    node_.host_used += holding.host;
    node_.mirrored_used += holding.mirrored;
    ++node_.pod_count;
    node_.snug_assigned_pods += devices ? 1 : 0;
    node_.kubelet_assigned_pods += std::exchange(kubelet_, false) ? 1 : 0;
    node_.unplaced_pods += holding.unplaced ? 1 : 0;
  }

  void finish() {
    for (std::size_t i = 0; i < node_.vanished.size(); ++i) {
      node_.gpus[node_.inventory->gpus.size() + i].info = &node_.vanished[i];
    }
    for (const auto& [resource, units] : node_.kubelet_used) {
      node_.kubelet_milli += units * unit_compute(*node_.inventory, resource).value;
    }
    node_.annotated_refusal = gate_for_annotated(node_);
    node_.kubelet_refusal = gate_for_kubelet(node_);
    node_.conflict = conflict_of(node_);
    for (std::size_t i = 0; i < node_.gpus.size(); ++i) {
      model::GpuState& gpu = node_.gpus[i];
      if (model::is_sharing_mode(gpu.mode)) gpu.sharing_mode = kept_sharing_mode(gpu);
      if (is_over_committed(i)) over_commit(gpu);
      const bool no_table = gpu.info->mig_enabled && !gpu.info->mig_table;
      if (gpu.closure == model::GpuClosure::kOpen && no_table)
        gpu.closure = model::GpuClosure::kNoMigTable;
      if (gpu.closure != model::GpuClosure::kOpen || gpu.memory.value <= 0) continue;
      set_free(gpu);
      node_.free_milli_sum += gpu.free_milli_sum;
      node_.free_milli += gpu.free_milli;
    }
    node_.free_milli = std::max<std::int64_t>(0, node_.free_milli - node_.kubelet_milli);
  }

 private:
  struct GpuCost {
    std::size_t gpu = 0;
    Charge cost;
  };
  struct Holder {
    const model::ContainerRequest* request = nullptr;  // null: unknown
    model::ContainerType type = model::ContainerType::kApp;
  };
  struct OwnSlice {
    std::size_t gpu = 0;
    model::MigPlacement slice;
    model::ContainerType type = model::ContainerType::kApp;
  };

  /// Divides the holding's CPU and memory equally between its GPUs. Also divides the pod itself,
  /// which counts as kPodMilli, equally between them (GpuState::pod_milli).
  void spread_over_gpus(const model::HostResources& host) {
    std::ranges::sort(holding_gpus_);
    const auto twice = std::ranges::unique(holding_gpus_);
    holding_gpus_.erase(twice.begin(), twice.end());
    const auto gpus = static_cast<std::int64_t>(holding_gpus_.size());
    for (const std::size_t position : holding_gpus_) {
      model::GpuState& gpu = node_.gpus[position];
      gpu.pod_milli += static_cast<std::int32_t>(model::kPodMilli / gpus);
      gpu.host_requested += {host.cpu_milli / gpus, host.memory_bytes / gpus};
    }
    holding_gpus_.clear();
  }

  /// Whether the holdings on the GPU take more than it has. False for a GPU that serves slices,
  /// because take_slice() checks whether the slices overlap. If the GPU has n shares by fraction,
  /// an excess of memory of up to n - 1 MiB is tolerated, because rounding can cause it.
  [[nodiscard]] bool is_over_committed(std::size_t position) const {
    const model::GpuState& gpu = node_.gpus[position];
    if (serves_slices(*gpu.info)) return false;
    const std::int64_t excess_memory = (gpu.used_memory - gpu.memory).value;
    return excess_memory > std::max<std::int64_t>(0, fraction_shares_[position] - 1) ||
           gpu.used_compute > base::kWholeGpu;
  }

  static void over_commit(model::GpuState& gpu) {
    if (outranked_by_over_commit(gpu.closure)) gpu.closure = model::GpuClosure::kOverCommitted;
  }

  /// Sets the free capacity of an open GPU. The capacity stays 0 in MIG mode if the card's table is
  /// unknown.
  void set_free(model::GpuState& gpu) const {
    if (gpu.info->mig_enabled && !serves_slices(*gpu.info)) return;
    if (serves_slices(*gpu.info)) {
      const MigFree free_slices = mig_free(*node_.inventory, gpu);
      gpu.free_milli = mig::axis_thousandths(*free_slices.table, free_slices.idle());
      gpu.free_milli_sum = 2 * gpu.free_milli;
      return;
    }
    const Charge free_charge{.memory = std::max(base::MebiBytes{0}, gpu.free_memory()),
                             .compute = gpu.free_compute()};
    gpu.free_milli_sum = free_charge.milli_sum(gpu.memory);
    gpu.free_milli = free_milli_after(gpu, {});
  }

  static void count(model::GpuState& gpu, const Charge& cost) {
    gpu.used_memory += cost.memory;
    gpu.used_compute += cost.compute;
  }

  GpuCost take_device(const model::ReservedDevice& device, const Holder& holder, bool suspect) {
    const std::size_t position = position_of(device);
    model::GpuState& gpu = node_.gpus[position];
    const bool conflict = gpu.mode != model::GpuMode::kNone && gpu.mode != device.mode;
    if (gpu.mode == model::GpuMode::kNone) gpu.mode = device.mode;
    CountedDevice counted_device = count_device(device, holder.request, gpu);
    if (counted_device.rounded) ++fraction_shares_[position];
    if (gpu.closure != model::GpuClosure::kVanished) {
      if (serves_slices(*gpu.info)) {
        if (device.slice) {
          take_slice(position, *device.slice, holder, counted_device);
        } else {
          counted_device.suspect = true;
        }
      } else if (gpu.info->mig_enabled && device.slice) {
        take_unknown(position, *device.slice, holder.type);
      }
    }
    if (gpu.closure == model::GpuClosure::kOpen) {
      if (suspect || counted_device.suspect) gpu.closure = model::GpuClosure::kSuspect;
      if (conflict) gpu.closure = model::GpuClosure::kModeConflict;
    }
    return {position, counted_device.cost};
  }

  /// Counts a slice of a card whose table is known. Marks `counted_device` as suspect if the card
  /// has no such slice, or if the slice cannot serve the holder's request.
  void take_slice(std::size_t position, const model::Slice& slice, const Holder& holder,
                  CountedDevice& counted_device) {
    model::GpuState& gpu = node_.gpus[position];
    const model::MigTable& table = *gpu.info->mig_table;
    const std::optional<model::MigPlacement> placement = model::find_placement(table, slice);
    if (!placement) {
      const bool on_axis = slice.start + slice.size <= table.memory_slices;
      const model::AxisMask range = on_axis ? model::axis_range(slice.start, slice.size)
                                            : model::axis_range(0, table.memory_slices);
      if ((gpu.mig.taken_slices & range) != 0) over_commit(gpu);
      gpu.mig.taken_slices |= range;
      counted_device.suspect = true;
      return;
    }
    const CountedDevice counted_slice =
        count_slice(table, placement->profile, holder.request, counted_device.cost);
    counted_device.cost = counted_slice.cost;
    counted_device.suspect = counted_device.suspect || counted_slice.suspect;
    if (!add_own_slice({position, *placement, holder.type})) return;
    if (!mig::slice_fits(table, gpu.mig, *placement)) over_commit(gpu);
    gpu.mig = mig::with_slice(table, gpu.mig, *placement);
    const bool changed = !exists(gpu, *placement, slice.uuid);
    if (changed && gpu.closure == model::GpuClosure::kOpen)
      gpu.closure = model::GpuClosure::kChanged;
  }

  /// Counts a slice of a card whose table is unknown.
  void take_unknown(std::size_t position, const model::Slice& slice,
                    model::ContainerType container_type) {
    const model::MigPlacement stand_in{static_cast<std::uint16_t>(slice.size),
                                       static_cast<std::uint16_t>(slice.start)};
    if (!add_own_slice({position, stand_in, container_type})) return;
    model::GpuState& gpu = node_.gpus[position];
    const bool on_axis = slice.start + slice.size <= model::kMaxAxisSlices;
    const model::AxisMask range =
        model::axis_range(on_axis ? slice.start : 0, on_axis ? slice.size : model::kMaxAxisSlices);
    if ((gpu.mig.taken_slices & range) != 0) over_commit(gpu);
    gpu.mig.taken_slices |= range;
  }

  /// Returns true if no other container of the pod has this slice, so that it must be counted. Two
  /// containers may have the same slice only if one is a plain init container and the other is not
  /// a sidecar, because such containers run one after the other. Otherwise the GPU is closed as
  /// over-committed.
  bool add_own_slice(const OwnSlice& own_slice) {
    bool is_new = true;
    for (const OwnSlice& other_slice : own_slices_) {
      if (other_slice.gpu != own_slice.gpu || other_slice.slice != own_slice.slice) continue;
      is_new = false;
      const bool init = own_slice.type == model::ContainerType::kInit ||
                        other_slice.type == model::ContainerType::kInit;
      const bool sidecar = own_slice.type == model::ContainerType::kSidecar ||
                           other_slice.type == model::ContainerType::kSidecar;
      if (!init || sidecar) over_commit(node_.gpus[own_slice.gpu]);
    }
    own_slices_.push_back(own_slice);
    return is_new;
  }

  /// Whether the GPU has the slice that a reservation names. Always true with dynamic MIG, because
  /// the node's agent creates every reserved slice.
  [[nodiscard]] bool exists(const model::GpuState& gpu, model::MigPlacement slice,
                            std::string_view uuid) const {
    return node_.inventory->dynamic_mig ||
           std::ranges::any_of(gpu.info->mig_instances, [&](const model::Slice& known) {
             return model::find_placement(*gpu.info->mig_table, known) == slice &&
                    (known.uuid.empty() || uuid.empty() || known.uuid == uuid);
           });
  }

  std::size_t position_of(const model::ReservedDevice& device) {
    const auto position = node_.inventory->find_gpu(device.index, device.uuid);
    if (!position) return find_vanished(device);
    model::GpuState& gpu = node_.gpus[*position];
    const bool has_other_uuid =
        !device.uuid.empty() && !gpu.info->uuid.empty() && gpu.info->uuid != device.uuid;
    if (has_other_uuid && gpu.closure == model::GpuClosure::kOpen)
      gpu.closure = model::GpuClosure::kChanged;
    return *position;
  }

  std::size_t find_vanished(const model::ReservedDevice& device) {
    const auto [vanished_gpu, is_new] =
        vanished_positions_.try_emplace({device.index, device.uuid}, node_.gpus.size());
    if (is_new) {
      node_.vanished.push_back({.index = device.index, .uuid = device.uuid, .healthy = false});
      node_.gpus.emplace_back(model::GpuState{.closure = model::GpuClosure::kVanished});
      fraction_shares_.push_back(0);
    }
    return vanished_gpu->second;
  }

  model::NodeState& node_;
  /// Positions of vanished GPUs by index and uuid. The holdings own the uuids. The lookup must be
  /// fast, because forged reservations can name many vanished GPUs.
  std::map<std::pair<int, std::string_view>, std::size_t> vanished_positions_;
  std::vector<int> fraction_shares_;  // by GPU: the number of shares by fraction on it
  bool kubelet_ = false;  // the kubelet assigns devices of the holding that is being added
  std::vector<std::size_t> holding_gpus_;    // GPUs of the holding that is being added
  std::map<std::size_t, PodCharge> by_gpu_;  // charges of the holding that is being added
  std::vector<OwnSlice> own_slices_;         // slices of the holding that is being added
};

}  // namespace

model::NodeStatePtr build_node_state(std::shared_ptr<const model::NodeInventory> inventory,
                                     std::vector<model::HoldingPtr> holdings,
                                     const CpuOnlyHoldings& hosts) {
  auto node = std::make_shared<model::NodeState>();
  node->inventory = std::move(inventory);
  node->holdings = std::move(holdings);
  NodeStateBuilder adder(*node);
  for (const model::HoldingPtr& holding : node->holdings) adder.add(*holding);
  adder.finish();
  node->host_used += hosts.requested;
  node->mirrored_used += hosts.mirrored;
  node->pod_count += hosts.pod_count;
  if (hosts.listed.empty()) {
    node->unlisted_host_used = hosts.requested;
    node->unlisted_mirrored_used = hosts.mirrored;
    node->unlisted_pod_count = hosts.pod_count;
  }
  node->holdings.insert(node->holdings.end(), hosts.listed.begin(), hosts.listed.end());
  return node;
}

model::NodeStatePtr with_holdings(const model::NodeState& node,
                                  std::vector<model::HoldingPtr> holdings) {
  return build_node_state(node.inventory, std::move(holdings),
                          {.requested = node.unlisted_host_used,
                           .mirrored = node.unlisted_mirrored_used,
                           .pod_count = node.unlisted_pod_count,
                           .listed = {}});
}

}  // namespace snug::fit
