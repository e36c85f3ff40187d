#include "fit_oracle.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <variant>

namespace snug {
namespace {

bool sharing(GpuMode mode) { return mode == GpuMode::kTimeSlicing || mode == GpuMode::kMps; }

bool wants_whole(const GpuRequest& request) {
  return std::holds_alternative<WholeAsk>(request.containers.front().ask);
}

}  // namespace

FitOracle::FitOracle(const NodeInventory& node, const std::vector<HoldingPtr>& holdings)
    : node_(node) {
  for (const GpuInfo& info : node.gpus) gpus_.push_back({.info = info, .closed = !info.healthy});
  for (const HoldingPtr& holding : holdings) {
    bool devices = false;
    bool units = false;
    for (std::size_t c = 0; c < holding->reservation.containers.size(); ++c) {
      const ReservedContainer& container = holding->reservation.containers[c];
      if (const auto* count = std::get_if<KubeletUnits>(&container.given)) {
        units_[count->resource] += count->count;
        units = true;
        continue;
      }
      for (const auto& device : std::get<std::vector<ReservedDevice>>(container.given)) {
        devices = true;
        const int at = gpu_of(device);
        if (at < 0) {
          ++vanished_;
          continue;
        }
        Gpu& gpu = gpus_[static_cast<std::size_t>(at)];
        gpu.devices.push_back(device);
        const bool other = !device.uuid.empty() && !gpu.info.uuid.empty();
        const bool wrong_mode =
            device.mode == GpuMode::kMig ? !gpu.info.mig : !gpu.allows(device.mode);
        const bool forged = c < holding->asks.size() && !gpu.may_state(holding->asks[c], device);
        if (holding->suspect || wrong_mode || forged || (other && device.uuid != gpu.info.uuid)) {
          gpu.closed = true;
        }
      }
    }
    with_devices_ += devices ? 1 : 0;
    with_units_ += units ? 1 : 0;
    unplaced_ += holding->unplaced ? 1 : 0;
  }
  for (Gpu& gpu : gpus_) {
    const bool over = gpu.memory() > gpu.info.memory.value || gpu.compute() > 1000;
    bool mixed = false;
    for (const ReservedDevice& a : gpu.devices) {
      mixed = mixed || a.mode != gpu.devices.front().mode ||
              (a.mode == GpuMode::kWhole && gpu.devices.size() > 1);
    }
    gpu.closed = gpu.closed || over || mixed;
  }
}

int FitOracle::gpu_of(const ReservedDevice& device) const {
  int by_index = -1;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!device.uuid.empty() && gpus_[i].info.uuid == device.uuid) return static_cast<int>(i);
    if (gpus_[i].info.index == device.index) by_index = static_cast<int>(i);
  }
  return by_index;
}

std::int64_t FitOracle::Gpu::memory() const {
  std::int64_t sum = 0;
  for (const ReservedDevice& device : devices) {
    sum += device.mode == GpuMode::kWhole ? info.memory.value : device.memory.value;
  }
  return sum;
}

std::int64_t FitOracle::Gpu::compute() const {
  std::int64_t sum = 0;
  for (const ReservedDevice& device : devices) {
    sum += device.mode == GpuMode::kWhole ? 1000 : device.compute.value;
  }
  return sum;
}

bool FitOracle::Gpu::allows(GpuMode mode) const {
  return !info.mig && std::ranges::count(info.modes, mode) > 0;
}

/// Its mode, or what it would take when empty, is one for shares.
bool FitOracle::Gpu::shareable() const {
  if (!devices.empty() && sharing(devices.front().mode)) return allows(devices.front().mode);
  return allows(GpuMode::kTimeSlicing) || allows(GpuMode::kMps);
}

bool FitOracle::Gpu::large_enough(const GpuRequest& request) const {
  const Cost price = cost(request, info.memory.value);
  return price.memory <= info.memory.value && price.compute <= 1000;
}

bool FitOracle::Gpu::has_room(const GpuRequest& request) const {
  if (closed || !shareable()) return false;
  if (!devices.empty() && !sharing(devices.front().mode)) return false;
  const Cost price = cost(request, info.memory.value);
  return memory() + price.memory <= info.memory.value && compute() + price.compute <= 1000;
}

bool FitOracle::Gpu::can_be_whole() const {
  return !closed && devices.empty() && allows(GpuMode::kWhole);
}

/// Some size from an eighth less to an eighth more than today's must explain what is stated.
bool FitOracle::Gpu::may_state(const std::optional<Ask>& ask, const ReservedDevice& device) const {
  if (!ask) return true;
  const std::int64_t eighth = info.memory.value / 8;
  const Cost least = cost(*ask, info.memory.value - eighth);
  const Cost most = cost(*ask, info.memory.value + eighth);
  if (std::holds_alternative<MemoryAsk>(*ask)) {
    return device.memory.value == most.memory && device.compute.value >= most.compute &&
           device.compute.value <= least.compute;
  }
  return device.compute.value == most.compute && device.memory.value >= least.memory &&
         device.memory.value <= most.memory;
}

FitOracle::Cost FitOracle::cost(const GpuRequest& request, std::int64_t capacity) {
  return cost(request.containers.front().ask, capacity);
}

FitOracle::Cost FitOracle::cost(const Ask& ask, std::int64_t capacity) {
  if (const auto* fraction = std::get_if<FractionAsk>(&ask)) {
    const std::int64_t memory = (fraction->thousandths * capacity) / 1000;
    return {memory == 0 ? 1 : memory, fraction->thousandths};
  }
  if (const auto* memory = std::get_if<MemoryAsk>(&ask)) {
    const std::int64_t compute = (1000 * memory->memory.value) / capacity;
    return {memory->memory.value, compute == 0 ? 1 : compute};
  }
  return {capacity, 1000};
}

bool FitOracle::gates_open(const GpuRequest& request) const {
  if (node_.closed_to_all != ReasonCode::kNone) return false;
  if (request.kubelet_assigned()) {
    return node_.pool != Pool::kShares && with_devices_ == 0 && unplaced_ == 0;
  }
  return node_.pool != Pool::kWhole && node_.closed_to_annotated == ReasonCode::kNone &&
         with_units_ == 0 && unplaced_ == 0;
}

std::set<std::set<int>> FitOracle::assignments(const GpuRequest& request) const {
  std::set<std::set<int>> found;
  if (!gates_open(request)) return found;
  if (request.kubelet_assigned()) {
    if (units_within(request, Units::kFree)) found.insert(std::set<int>{});
    return found;
  }
  const bool whole = wants_whole(request);
  const std::size_t count = whole ? static_cast<std::size_t>(request.containers.front().count) : 1;
  for (unsigned chosen = 0; chosen < (1U << gpus_.size()); ++chosen) {
    std::set<int> gpus;
    bool all = true;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if ((chosen >> i & 1U) == 0) continue;
      gpus.insert(static_cast<int>(i));
      all = all && (whole ? gpus_[i].can_be_whole() : gpus_[i].has_room(request));
    }
    if (all && gpus.size() == count) found.insert(gpus);
  }
  return found;
}

bool FitOracle::units_within(const GpuRequest& request, Units units) const {
  std::map<std::string, std::int64_t> wanted;
  for (const ContainerRequest& container : request.containers) {
    wanted[std::get<KubeletAsk>(container.ask).resource] += container.count;
  }
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const auto& [resource, count] = entry;
    const auto used = units_.find(resource);
    switch (units) {
      case Units::kFree:
        return count <= units_of(resource, false) - (used == units_.end() ? 0 : used->second);
      case Units::kUsable:
        return count <= units_of(resource, false);
      case Units::kEver:
        return count <= units_of(resource, true);
      case Units::kAny:
        break;
    }
    return units_of(resource, true) > 0;
  });
}

std::int64_t FitOracle::units_of(const std::string& resource, bool ever) const {
  const auto has = node_.kubelet_units.find(resource);
  const auto had = node_.kubelet_capacity.find(resource);
  const std::int64_t now = has == node_.kubelet_units.end() ? 0 : has->second;
  if (!ever || had == node_.kubelet_capacity.end()) return now;
  return std::max(now, had->second);
}

bool FitOracle::is_true(ReasonCode reason, const GpuRequest& request) const {
  const bool kubelet = request.kubelet_assigned();
  if (reason == node_.closed_to_all) return true;
  switch (reason) {
    case ReasonCode::kWrongPool:
      return node_.pool == (kubelet ? Pool::kShares : Pool::kWhole);
    case ReasonCode::kOtherKind:
      return kubelet ? with_devices_ + unplaced_ > 0 : with_units_ > 0;
    case ReasonCode::kNodeClosed:
      return !kubelet && unplaced_ > 0;
    case ReasonCode::kNoGpu:
      return gpus_.empty();
    default:
      break;
  }
  if (kubelet) return units_reason(reason, request);
  if (reason == node_.closed_to_annotated) return true;
  return wants_whole(request) ? whole_reason(reason, request) : share_reason(reason, request);
}

bool FitOracle::share_reason(ReasonCode reason, const GpuRequest& request) const {
  int large = 0;
  int able = 0;
  int open = 0;
  for (const Gpu& gpu : gpus_) {
    large += gpu.large_enough(request) ? 1 : 0;
    able += gpu.large_enough(request) && gpu.shareable() ? 1 : 0;
    open += gpu.large_enough(request) && gpu.shareable() && !gpu.closed ? 1 : 0;
  }
  switch (reason) {
    case ReasonCode::kNoRoom:
      return open > 0;
    case ReasonCode::kUnhealthy:  // a vanished GPU may be one that could have served it
      return open == 0 && able + vanished_ > 0;
    case ReasonCode::kWrongMode:
      return able == 0 && large > 0;
    case ReasonCode::kTooLarge:
      return large == 0;
    default:
      return false;
  }
}

bool FitOracle::whole_reason(ReasonCode reason, const GpuRequest& request) const {
  const std::int64_t count = request.containers.front().count;
  std::int64_t able = 0;
  std::int64_t open = 0;
  for (const Gpu& gpu : gpus_) {
    able += gpu.allows(GpuMode::kWhole) ? 1 : 0;
    open += gpu.allows(GpuMode::kWhole) && !gpu.closed ? 1 : 0;
  }
  const auto present = static_cast<std::int64_t>(gpus_.size());
  switch (reason) {
    case ReasonCode::kNoRoom:
      return open >= count;
    case ReasonCode::kUnhealthy:
      return open < count && able >= count;
    case ReasonCode::kWrongMode:
      return able < count && present >= count;
    case ReasonCode::kTooLarge:
      return present < count;
    default:
      return false;
  }
}

bool FitOracle::units_reason(ReasonCode reason, const GpuRequest& request) const {
  switch (reason) {
    case ReasonCode::kNoRoom:
      return units_within(request, Units::kUsable) && !units_within(request, Units::kFree);
    case ReasonCode::kUnhealthy:
      return units_within(request, Units::kEver) && !units_within(request, Units::kUsable);
    case ReasonCode::kWrongMode:
      return !units_within(request, Units::kAny);
    case ReasonCode::kTooLarge:
      return !units_within(request, Units::kEver);
    default:
      return false;
  }
}

}  // namespace snug
