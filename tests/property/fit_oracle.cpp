#include "fit_oracle.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>
#include <variant>

namespace snug {
namespace {

using Users = std::vector<const model::ContainerRequest*>;

/// A GPU that is gone may have been of any size.
constexpr std::int64_t kAnySize = std::int64_t{1} << 43;

bool sharing(model::GpuMode mode) {
  return mode == model::GpuMode::kTimeSlicing || mode == model::GpuMode::kMps;
}

bool wants_whole(const model::ContainerRequest& asked) {
  return std::holds_alternative<model::WholeGpuRequest>(asked.device);
}

bool names_slice(const model::ContainerRequest& asked) {
  return std::holds_alternative<model::SliceRequest>(asked.device);
}

bool is_init(const model::ContainerRequest& asked) {
  return asked.type == model::ContainerType::kInit;
}

bool content_with(model::Isolation isolation, model::GpuMode mode) {
  switch (isolation) {
    case model::Isolation::kAny:
      return true;
    case model::Isolation::kTimeSlicing:
      return mode == model::GpuMode::kTimeSlicing;
    case model::Isolation::kMps:
      return mode == model::GpuMode::kMps;
    case model::Isolation::kMig:
      break;
  }
  return false;
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool matches(const std::string& glob, const std::string& text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    return matches(glob.substr(1), text) || (!text.empty() && matches(glob, text.substr(1)));
  }
  return !text.empty() && (glob[0] == '?' || small(glob[0]) == small(text[0])) &&
         matches(glob.substr(1), text.substr(1));
}

bool takes_model(const model::ModelFilter& filter, std::string model) {
  model = model.substr(0, model.find("-SHARED"));
  model = model.substr(0, model.find("-MIG-"));
  bool wanted = filter.included.empty();
  for (const std::string& glob : filter.included) wanted = wanted || matches(glob, model);
  for (const std::string& glob : filter.excluded) wanted = wanted && !matches(glob, model);
  return wanted;
}

std::int64_t in(const std::map<std::string, std::int64_t, std::less<>>& units,
                const std::string& resource) {
  const auto found = units.find(resource);
  return found == units.end() ? 0 : found->second;
}

std::int64_t milli_of_units(const model::NodeInventory& node, const std::string& resource,
                            std::int64_t count) {
  if (resource.starts_with("nvidia.com/mig-")) return 0;
  const std::int64_t each = 1000 / node.replicas + (1000 % node.replicas == 0 ? 0 : 1);
  return count * each;
}

}  // namespace

FitOracle::FitOracle(const model::NodeInventory& node,
                     const std::vector<model::HoldingPtr>& holdings, Asker asker)
    : node_(node), asker_(std::move(asker)) {
  for (const model::GpuInfo& info : node.gpus) {
    gpus_.push_back({.info = info, .closed = !info.healthy});
    if (const LiteralCard* card = card_of(info)) gpus_.back().slices.emplace(*card, info, node);
  }
  for (const model::HoldingPtr& holding : holdings) hold(*holding);
  for (Gpu& gpu : gpus_) {
    if (gpu.slices) continue;
    const std::int64_t over = gpu.used.memory - gpu.info.memory.value;
    // Rounding is less than 1 MiB for each fraction.
    if ((over > 0 && over >= gpu.fractions) || gpu.used.compute > 1000) gpu.closed = true;
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
      parts[at].push_back({.kind = holding.container_type(c),
                           .position = c,
                           .cost = gpu.counts(device, forged ? nullptr : asked)});
    }
  }
  for (const auto& [at, of_gpu] : slices) {
    Gpu& gpu = gpus_[at];
    gpu.closed = !gpu.slices->hold(of_gpu) || gpu.closed;
  }
  for (const auto& [at, of_gpu] : parts) {
    const Cost cost = together(of_gpu);
    gpus_[at].used.memory += cost.memory;
    gpus_[at].used.compute += cost.compute;
  }
  with_devices_ += devices ? 1 : 0;
  with_units_ += units ? 1 : 0;
  unplaced_ += holding.unplaced ? 1 : 0;
  const bool asks_gpus = !holding.reservation.containers.empty();
  apart_from_units_ = apart_from_units_ || (asks_gpus && apart(holding.name_space));
}

std::size_t FitOracle::gpu_of(const model::ReservedDevice& device) {
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
  if (by_index) return *by_index;
  gpus_.push_back({.info = {.index = device.index, .uuid = device.uuid, .memory = {kAnySize}},
                   .vanished = true,
                   .closed = true});
  return gpus_.size() - 1;
}

/// Per dimension the larger of apps + sidecars and each plain init container + the sidecars started
/// before it.
FitOracle::Cost FitOracle::together(const std::vector<Part>& parts) {
  std::set<std::size_t> moments;  // the position of the init container that runs then
  for (const Part& part : parts) {
    if (part.kind == model::ContainerType::kInit) moments.insert(part.position);
  }
  constexpr std::size_t kAllStarted = SIZE_MAX;
  moments.insert(kAllStarted);
  Cost most;
  for (const std::size_t moment : moments) {
    Cost now;
    for (const Part& part : parts) {
      const bool runs = part.kind == model::ContainerType::kInit      ? part.position == moment
                        : part.kind == model::ContainerType::kSidecar ? part.position < moment
                                                                      : moment == kAllStarted;
      if (!runs) continue;
      now.memory += part.cost.memory;
      now.compute += part.cost.compute;
    }
    most = {std::max(most.memory, now.memory), std::max(most.compute, now.compute)};
  }
  return most;
}

bool FitOracle::apart(const std::string& other) const {
  if (other == asker_.name_space) return false;
  return asker_.rules.rule_for(other).own_namespace_only ||
         asker_.rules.rule_for(asker_.name_space).own_namespace_only;
}

std::optional<std::int64_t> FitOracle::cap_left() const {
  const auto& cap = asker_.rules.rule_for(asker_.name_space).cap;
  if (!cap) return std::nullopt;
  return cap->value - asker_.held;
}

bool FitOracle::Gpu::allows(model::GpuMode wanted) const {
  return !info.mig_enabled && std::ranges::count(info.allowed_modes, wanted) > 0;
}

/// Some size from an eighth less to an eighth more than today's must explain what is stated.
bool FitOracle::Gpu::may_state(const model::ContainerRequest& asked,
                               const model::ReservedDevice& device) const {
  if (device.mode == model::GpuMode::kMig) return true;
  const std::int64_t eighth = info.memory.value / 8;
  const Cost small = cost(asked, info.memory.value - eighth);
  const Cost large = cost(asked, info.memory.value + eighth);
  const auto [least, most] = std::minmax(small.compute, large.compute);
  return device.memory.value >= std::min(small.memory, large.memory) &&
         device.memory.value <= std::max(small.memory, large.memory) &&
         device.compute.value >= least && device.compute.value <= most;
}

FitOracle::Cost FitOracle::cost(const model::ContainerRequest& asked, std::int64_t capacity) {
  Cost cost{capacity, 1000};
  if (const auto* fraction = std::get_if<model::FractionRequest>(&asked.device)) {
    const std::int64_t memory = (fraction->thousandths * capacity) / 1000;
    cost = {memory == 0 ? 1 : memory, fraction->thousandths};
  } else if (const auto* memory = std::get_if<model::MemoryRequest>(&asked.device)) {
    const std::int64_t compute = (1000 * memory->memory.value) / capacity;
    cost = {memory->memory.value, compute == 0 ? 1 : compute};
  }
  if (names_slice(asked)) cost = {0, 0};
  if (asked.compute_percent) cost.compute = *asked.compute_percent * std::int64_t{10};
  return cost;
}

std::int64_t FitOracle::held_by(const model::Holding& holding, const model::NodeInventory& node) {
  std::int64_t sum = 0;
  std::map<std::pair<int, std::string>, std::vector<Part>> parts;
  for (std::size_t c = 0; c < holding.reservation.containers.size(); ++c) {
    const auto& given = holding.reservation.containers[c].assigned;
    if (const auto* units = std::get_if<model::KubeletUnits>(&given)) {
      sum += milli_of_units(node, units->resource, units->count);
      continue;
    }
    for (const auto& device : std::get<std::vector<model::ReservedDevice>>(given)) {
      const std::int64_t compute =
          device.mode == model::GpuMode::kWhole ? 1000 : device.compute.value;
      parts[{device.index, device.uuid}].push_back({holding.container_type(c), c, {0, compute}});
    }
  }
  for (const auto& [gpu, of_gpu] : parts) sum += together(of_gpu).compute;
  return sum;
}

bool FitOracle::gate_says(model::ReasonCode reason, const model::GpuRequest& request) const {
  const bool kubelet = request.is_kubelet_assigned();
  if (reason == model::ReasonCode::kNone) return false;
  if (reason == node_.closed_to_all) return true;
  if (reason == node_.closed_to_annotated && !kubelet) return true;
  switch (reason) {
    case model::ReasonCode::kWrongPool:
      return node_.pool == (kubelet ? model::Pool::kShares : model::Pool::kWhole);
    case model::ReasonCode::kOtherKind:
      return kubelet ? with_devices_ + unplaced_ > 0 : with_units_ > 0;
    case model::ReasonCode::kNodeClosed:
      return !kubelet && unplaced_ > 0;
    case model::ReasonCode::kNoGpu:
      return !kubelet && node_.gpus.empty();
    case model::ReasonCode::kNotEnforced: {
      const auto share = [](const model::ContainerRequest& asked) {
        return !wants_whole(asked) && !names_slice(asked);
      };
      const auto sliced = [](const Gpu& gpu) { return gpu.slices.has_value(); };
      return wants_enforcement() && (kubelet ? node_.replicas > 1
                                             : std::ranges::any_of(request.containers, share) &&
                                                   std::ranges::none_of(gpus_, sliced));
    }
    default:
      return false;
  }
}

bool FitOracle::wants_enforcement() const {
  return !node_.enforces_shares && asker_.rules.rule_for(asker_.name_space).require_enforcement;
}

bool FitOracle::gates_open(const model::GpuRequest& request) const {
  for (std::size_t code = 0; code < model::all_reasons().size(); ++code) {
    if (gate_says(static_cast<model::ReasonCode>(code), request)) return false;
  }
  return true;
}

bool FitOracle::possible(const model::GpuRequest& request) const {
  if (!gates_open(request)) return false;
  if (request.is_kubelet_assigned()) return reason_for_units(request) == model::ReasonCode::kNone;
  return exists(request, Rule::kNeighbours);
}

bool FitOracle::possible_on(const model::GpuRequest& request, std::size_t gpu) const {
  return gates_open(request) &&
         alone(request.containers.front(), gpus_.at(gpu), Rule::kNeighbours) &&
         serves(request, Rule::kNeighbours, {1U << gpu});
}

model::ReasonCode FitOracle::reason_for_units(const model::GpuRequest& request) const {
  std::map<std::string, std::int64_t> wanted;
  std::int64_t milli = 0;
  for (const model::ContainerRequest& container : request.containers) {
    const std::string& resource = std::get<model::KubeletRequest>(container.device).resource;
    wanted[resource] += container.count;
    milli += milli_of_units(node_, resource, container.count);
  }
  const auto any = [&](auto&& speaks_against) {
    return std::ranges::any_of(wanted, [&](const auto& entry) {
      const std::int64_t now = in(node_.kubelet_allocatable, entry.first);
      const std::int64_t ever = std::max(now, in(node_.kubelet_capacity, entry.first));
      const auto used = units_.find(entry.first);
      const std::int64_t free = now - (used == units_.end() ? 0 : used->second);
      return speaks_against(entry.second, ever, now, free);
    });
  };
  using Int = std::int64_t;
  if (any([](Int asked, Int ever, Int, Int) { return ever > 0 && asked > ever; })) {
    return model::ReasonCode::kTooLarge;
  }
  const auto missing = [&](const auto& entry) {
    const Int ever =
        in(node_.kubelet_allocatable, entry.first) + in(node_.kubelet_capacity, entry.first);
    return ever == 0 && entry.first.starts_with("nvidia.com/mig-");
  };
  if (std::ranges::any_of(wanted, missing)) return model::ReasonCode::kNoProfile;
  if (any([](Int, Int ever, Int, Int) { return ever == 0; })) return model::ReasonCode::kWrongMode;
  if (any([](Int asked, Int, Int now, Int) { return asked > now; }))
    return model::ReasonCode::kUnhealthy;
  if (cap_left() && milli > *cap_left()) return model::ReasonCode::kCapReached;
  if (any([](Int asked, Int, Int, Int free) { return asked > free; }))
    return model::ReasonCode::kNoRoom;
  const bool meets = node_.replicas > 1 && apart_from_units_;
  return meets ? model::ReasonCode::kOtherNamespace : model::ReasonCode::kNone;
}

bool FitOracle::exists(const model::GpuRequest& request, Rule last) const {
  Assignment chosen;
  return extend(request, last, chosen);
}

bool FitOracle::extend(const model::GpuRequest& request, Rule last, Assignment& chosen) const {
  if (chosen.size() == request.containers.size()) return serves(request, last, chosen);
  const model::ContainerRequest& asked = request.containers[chosen.size()];
  unsigned able = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) able |= alone(asked, gpus_[i], last) ? 1U << i : 0;
  for (unsigned gpus = 1; gpus < (1U << gpus_.size()); ++gpus) {
    if ((gpus & ~able) != 0 || std::popcount(gpus) != asked.count) continue;
    chosen.push_back(gpus);
    if (extend(request, last, chosen)) return true;
    chosen.pop_back();
  }
  return false;
}

/// What can be said of one container and one GPU.
bool FitOracle::alone(const model::ContainerRequest& asked, const Gpu& gpu, Rule last) const {
  const Cost price = cost(asked, gpu.info.memory.value);
  const bool sized = !gpu.slices || wants_whole(asked);
  if (sized && (price.memory > gpu.info.memory.value || price.compute > 1000)) return false;
  if (last >= Rule::kHealth && gpu.closed) return false;
  if (last >= Rule::kNeighbours && !wants_whole(asked) && gpu.apart) return false;
  return gpu.vanished || last < Rule::kModel || takes_model(asked.models, gpu.info.model);
}

bool FitOracle::serves(const model::GpuRequest& request, Rule last,
                       const Assignment& chosen) const {
  std::int64_t compute = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const auto price = price_on(request, last, chosen, i);
    if (!price) return false;
    compute += *price;
  }
  return last < Rule::kCap || !cap_left() || compute <= *cap_left();
}

std::optional<std::int64_t> FitOracle::price_on(const model::GpuRequest& request, Rule last,
                                                const Assignment& chosen, std::size_t at) const {
  const Gpu& gpu = gpus_[at];
  Users users;
  std::vector<MigOracle::User> sliced;
  std::vector<Part> parts;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if ((chosen[c] >> at & 1U) == 0) continue;
    const model::ContainerRequest& asked = request.containers[c];
    users.push_back(&asked);
    sliced.push_back({.asked = &asked, .position = c});
    parts.push_back({asked.type, c, cost(asked, gpu.info.memory.value)});
  }
  if (users.empty()) return 0;
  const auto whole = [](const model::ContainerRequest* asked) { return wants_whole(*asked); };
  if (gpu.slices && std::ranges::none_of(users, whole)) {
    return slices_price(gpu, sliced, std::move(parts), last);
  }
  if (!mode_for(gpu, users, last)) return std::nullopt;
  const Cost price = together(parts);
  const Cost others = last >= Rule::kRoom ? gpu.used : Cost{};
  const bool room = others.memory + price.memory <= gpu.info.memory.value &&
                    others.compute + price.compute <= 1000;
  return room ? std::optional(price.compute) : std::nullopt;
}

std::optional<model::GpuMode> FitOracle::mode_for(const Gpu& gpu, const Users& users,
                                                  Rule last) const {
  const auto whole = [](const model::ContainerRequest* asked) { return wants_whole(*asked); };
  if (std::ranges::any_of(users, whole)) {
    if (!may_be_whole(users)) return std::nullopt;
    if (last >= Rule::kMode && !gpu.vanished && !gpu.allows(model::GpuMode::kWhole))
      return std::nullopt;
    if (last >= Rule::kRoom && gpu.held) return std::nullopt;
    return model::GpuMode::kWhole;
  }
  if (last < Rule::kMode || gpu.vanished) return model::GpuMode::kTimeSlicing;
  const auto named = [](const model::ContainerRequest* asked) { return names_slice(*asked); };
  if (wants_enforcement() || std::ranges::any_of(users, named)) return std::nullopt;
  std::optional<model::GpuMode> mode;
  if (gpu.held && sharing(gpu.mode)) {
    mode = gpu.mode;
  } else if (last < Rule::kRoom || !gpu.held) {
    mode = opened_by(gpu, users);
  }
  if (!mode || !gpu.allows(*mode)) return std::nullopt;
  const bool all = std::ranges::all_of(users, [&](const model::ContainerRequest* asked) {
    return content_with(asked->isolation, *mode);
  });
  return all ? mode : std::nullopt;
}

/// One container owns it; init containers may have it first, whole or in part.
bool FitOracle::may_be_whole(const Users& users) {
  int owners = 0;
  for (const model::ContainerRequest* asked : users) {
    if (!is_init(*asked)) ++owners;
    if (wants_whole(*asked)) continue;
    if (!is_init(*asked) || asked->isolation != model::Isolation::kAny) return false;
  }
  return owners <= 1;
}

/// An empty GPU follows whoever asks for a mode; where nobody does, the operator.
std::optional<model::GpuMode> FitOracle::opened_by(const Gpu& gpu, const Users& users) {
  for (const model::ContainerRequest* asked : users) {
    if (asked->isolation == model::Isolation::kTimeSlicing) return model::GpuMode::kTimeSlicing;
    if (asked->isolation == model::Isolation::kMps) return model::GpuMode::kMps;
  }
  const auto first = std::ranges::find_if(gpu.info.allowed_modes, sharing);
  if (first == gpu.info.allowed_modes.end()) return std::nullopt;
  return *first;
}

bool FitOracle::accepts(const model::GpuRequest& request,
                        std::span<const model::DeviceAllocation> takes) const {
  if (!gates_open(request)) return false;
  if (request.is_kubelet_assigned()) {
    return takes.empty() && reason_for_units(request) == model::ReasonCode::kNone;
  }
  Assignment chosen(request.containers.size());
  for (const model::DeviceAllocation& allocation : takes) {
    const Gpu& gpu = gpus_.at(allocation.gpu);
    const model::ContainerRequest& asked = request.containers.at(allocation.container);
    if ((chosen[allocation.container] >> allocation.gpu & 1U) != 0) return false;
    if (!alone(asked, gpu, Rule::kNeighbours)) return false;
    const Cost price = cost(asked, gpu.info.memory.value);
    const bool stated =
        allocation.memory.value == price.memory && allocation.compute.value == price.compute;
    if (!gpu.slices && !stated) return false;
    chosen[allocation.container] |= 1U << allocation.gpu;
  }
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (std::popcount(chosen[c]) != request.containers[c].count) return false;
  }
  if (!serves(request, Rule::kNeighbours, chosen)) return false;
  if (!accepts_slices(request, takes)) return false;
  return std::ranges::all_of(takes, [&](const model::DeviceAllocation& allocation) {
    if (gpus_.at(allocation.gpu).slices) return true;
    Users users;
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      if ((chosen[c] >> allocation.gpu & 1U) != 0) users.push_back(&request.containers[c]);
    }
    return mode_for(gpus_.at(allocation.gpu), users, Rule::kNeighbours) == allocation.mode;
  });
}

}  // namespace snug
