// What FitOracle counts for the pods of its node, and what it would count for others.
#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "oracle/fit_oracle.hpp"

namespace snug {
namespace {

/// A GPU that is gone may have been of any size.
constexpr std::int64_t kAnySize = std::int64_t{1} << 43;

}  // namespace

FitOracle::FitOracle(model::NodeInventory node, const std::vector<model::HoldingPtr>& holdings,
                     Asker asker)
    : node_(std::move(node)),
      asker_(std::move(asker)),
      own_rule_(asker_.rule_of(asker_.name_space)) {
  for (const model::GpuInfo& info : node_.gpus) {
    gpus_.push_back({.info = info, .closed = !info.healthy});
    if (const LiteralCard* card = card_of(info)) gpus_.back().slices.emplace(*card, info, node_);
  }
  for (const model::HoldingPtr& holding : holdings) hold(*holding);
  for (Gpu& gpu : gpus_) {
    if (gpu.slices) continue;
    const std::int64_t over = gpu.used.memory - gpu.info.memory.value;
    // Rounding is less than 1 MiB for each fraction.
    if ((over > 0 && over >= gpu.fractions) || gpu.used.compute > kWholeMilli) gpu.closed = true;
  }
}

void FitOracle::hold(const model::Holding& holding) {
  bool devices = false;
  bool units = false;
  std::map<std::size_t, std::vector<Part>> parts;
  std::map<std::size_t, std::vector<MigOracle::Held>> slices;
  for (std::size_t c = 0; c < holding.reservation.containers.size(); ++c) {
    const model::ReservedContainer& container = holding.reservation.containers[c];
    if (const auto* count = std::get_if<model::KubeletUnits>(&container.assigned)) {
      units_[count->resource] += count->count;
      units = true;
      continue;
    }
    for (const auto& device : std::get<std::vector<model::ReservedDevice>>(container.assigned)) {
      devices = true;
      const std::size_t at = gpu_of(device);
      Gpu& gpu = gpus_[at];
      if (!gpu.held) gpu.mode = device.mode;
      gpu.held = true;
      const bool other = !device.uuid.empty() && !gpu.info.uuid.empty();
      const bool changed = other && device.uuid != gpu.info.uuid;
      const bool wrong_mode =
          device.mode == model::GpuMode::kMig ? !gpu.info.mig_enabled : !gpu.allows(device.mode);
      const bool known =
          c < holding.container_requests.size() && holding.container_requests[c].has_value();
      const model::ContainerRequest* const asked =
          known ? &*holding.container_requests[c] : nullptr;
      const bool forged = known && !gpu.vanished && !gpu.may_state(*asked, device);
      if (gpu.slices) slices[at].push_back({&device, asked, holding.container_type(c)});
      const bool mixed = gpu.mode != device.mode;
      gpu.closed = gpu.closed || holding.suspect || wrong_mode || forged || changed || mixed;
      gpu.apart = gpu.apart || apart(holding.name_space);
      parts[at].push_back({holding.container_type(c), c, gpu.counts(device, asked)});
    }
  }
  for (const auto& [at, of_gpu] : slices) {
    Gpu& gpu = gpus_[at];
    gpu.closed = !gpu.slices->hold(of_gpu) || gpu.closed;
  }
  for (const auto& [at, of_gpu] : parts) {
    const Amounts cost = together(of_gpu);
    gpus_[at].used.memory += cost.memory;
    gpus_[at].used.compute += cost.compute;
  }
  with_devices_ += devices ? 1 : 0;
  with_units_ += units ? 1 : 0;
  unplaced_ += holding.unplaced ? 1 : 0;
  const bool asks_gpus = !holding.reservation.containers.empty();
  apart_from_units_ = apart_from_units_ || (asks_gpus && apart(holding.name_space));
}

/// By its uuid; where that is gone, by its index.
std::optional<std::size_t> FitOracle::find_gpu(const model::ReservedDevice& device) const {
  std::optional<std::size_t> by_index;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const model::GpuInfo& info = gpus_[i].info;
    if (gpus_[i].vanished) {
      if (!by_index && info.index == device.index && info.uuid == device.uuid) return i;
      continue;
    }
    if (!device.uuid.empty() && info.uuid == device.uuid) return i;
    if (info.index == device.index) by_index = i;
  }
  return by_index;
}

std::size_t FitOracle::gpu_of(const model::ReservedDevice& device) {
  if (const auto found = find_gpu(device)) return *found;
  gpus_.push_back({.info = {.index = device.index, .uuid = device.uuid, .memory = {kAnySize}},
                   .vanished = true,
                   .closed = true});
  return gpus_.size() - 1;
}

/// Some size from an eighth less to an eighth more than today's must explain what is stated.
bool FitOracle::Gpu::may_state(const model::ContainerRequest& asked,
                               const model::ReservedDevice& device) const {
  if (device.mode == model::GpuMode::kMig) return true;
  const std::int64_t eighth = info.memory.value / 8;
  const Amounts small = cost(asked, info.memory.value - eighth);
  const Amounts large = cost(asked, info.memory.value + eighth);
  const auto [least, most] = std::minmax(small.compute, large.compute);
  return device.memory.value >= std::min(small.memory, large.memory) &&
         device.memory.value <= std::max(small.memory, large.memory) &&
         device.compute.value >= least && device.compute.value <= most;
}

/// Of a GPU that is gone, whatever it stated. Where that cannot be, at least what it may state.
Amounts FitOracle::Gpu::counts(const model::ReservedDevice& device,
                               const model::ContainerRequest* asked) {
  const Amounts stated{device.memory.value, device.compute.value};
  const bool whole = device.mode == model::GpuMode::kWhole;
  if (vanished) return {stated.memory, whole ? kWholeMilli : stated.compute};
  Amounts amounts = whole ? Amounts{info.memory.value, kWholeMilli} : stated;
  if (device.mode == model::GpuMode::kMig) {
    const LiteralProfile* profile =
        slices && device.slice ? slices->card().find(*device.slice) : nullptr;
    return profile == nullptr ? amounts : larger_of(amounts, slices->card().cost(*profile));
  }
  if (asked == nullptr) return amounts;
  const Amounts today = cost(*asked, info.memory.value);
  if (!may_state(*asked, device)) return larger_of(larger_of(amounts, stated), today);
  if (whole || !std::holds_alternative<model::FractionRequest>(asked->device)) return amounts;
  ++fractions;
  return {today.memory, amounts.compute};
}

Amounts FitOracle::cost(const model::ContainerRequest& asked, std::int64_t capacity) {
  Amounts cost{capacity, kWholeMilli};
  if (const auto* fraction = std::get_if<model::FractionRequest>(&asked.device)) {
    const std::int64_t memory = (fraction->thousandths * capacity) / 1000;
    cost = {memory == 0 ? 1 : memory, fraction->thousandths};
  } else if (const auto* memory = std::get_if<model::MemoryRequest>(&asked.device)) {
    const std::int64_t compute = (1000 * memory->memory.value) / capacity;
    cost = {memory->memory.value, compute == 0 ? 1 : compute};
  }
  if (std::holds_alternative<model::SliceRequest>(asked.device)) cost = {};
  if (asked.compute_percent) cost.compute = *asked.compute_percent * std::int64_t{10};
  return cost;
}

std::int64_t FitOracle::held_by(const model::Holding& holding, std::int64_t replicas) {
  std::int64_t sum = 0;
  std::map<std::pair<int, std::string>, std::vector<Part>> parts;
  for (std::size_t c = 0; c < holding.reservation.containers.size(); ++c) {
    const auto& given = holding.reservation.containers[c].assigned;
    if (const auto* units = std::get_if<model::KubeletUnits>(&given)) {
      sum += milli_of_units(replicas, units->resource, units->count);
      continue;
    }
    for (const auto& device : std::get<std::vector<model::ReservedDevice>>(given)) {
      const std::int64_t compute =
          device.mode == model::GpuMode::kWhole ? kWholeMilli : device.compute.value;
      parts[{device.index, device.uuid}].push_back({holding.container_type(c), c, {0, compute}});
    }
  }
  for (const auto& [gpu, of_gpu] : parts) sum += together(of_gpu).compute;
  return sum;
}

std::int64_t FitOracle::milli_of_units(std::int64_t replicas, const std::string& resource,
                                       std::int64_t count) {
  if (replicas == 0 || resource.starts_with("nvidia.com/mig-")) return 0;
  return count * ((kWholeMilli + replicas - 1) / replicas);
}

model::HoldingPtr FitOracle::holding(const model::GpuRequest& request, const Takes& takes) const {
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = asker_.name_space;
  holding->reservation.node = node_.name;
  for (std::size_t c = 0; c < request.containers.size(); ++c) {
    const model::ContainerRequest& asked = request.containers[c];
    model::ReservedContainer& container = holding->reservation.containers.emplace_back();
    container.name = asked.container;
    holding->container_types.push_back(asked.type);
    if (const auto* units = std::get_if<model::KubeletRequest>(&asked.device)) {
      container.assigned = model::KubeletUnits{units->resource, asked.count};
      holding->container_requests.emplace_back();
      continue;
    }
    holding->container_requests.emplace_back(asked);
    std::vector<model::ReservedDevice> devices;
    for (const model::DeviceAllocation& take : takes) {
      if (take.container != c) continue;
      const Gpu& gpu = gpus_.at(take.gpu);
      model::ReservedDevice& device = devices.emplace_back(model::ReservedDevice{
          gpu.info.index, gpu.info.uuid, take.mode, take.memory, take.compute, std::nullopt});
      if (take.mode == model::GpuMode::kMig) device.slice = gpu.slices->slice_at(take.slice);
    }
    container.assigned = std::move(devices);
  }
  return holding;
}

FitOracle::Takes FitOracle::takes_of(const model::Holding& holding) const {
  Takes takes;
  for (std::size_t c = 0; c < holding.reservation.containers.size(); ++c) {
    const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(
        &holding.reservation.containers[c].assigned);
    if (devices == nullptr) continue;
    for (const model::ReservedDevice& device : *devices) {
      const auto at = find_gpu(device);
      if (!at || gpus_[*at].vanished) continue;
      takes.push_back({.container = static_cast<std::uint16_t>(c),
                       .gpu = static_cast<std::uint16_t>(*at),
                       .mode = device.mode,
                       .memory = device.memory,
                       .compute = device.compute});
      const auto& slices = gpus_[*at].slices;
      if (slices && device.slice) takes.back().slice = slices->placement_of(*device.slice);
    }
  }
  return takes;
}

}  // namespace snug
