#include "sim/harness/naive_node.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace snug {
namespace {

bool allows(const SimGpu& gpu, const std::string& mode) {
  if (gpu.mig) return mode == "mig";
  return std::ranges::find(gpu.modes, mode) != gpu.modes.end();
}

/// Whether the stated amounts are possible. When the pod was bound, the published size of the GPU
/// may have been larger or smaller by up to an eighth.
bool credible(const PlainContainer& ask, const Amounts& stated, std::int64_t capacity) {
  const Amounts small = ask.cost(capacity - capacity / 8);
  const Amounts large = ask.cost(capacity + capacity / 8);
  return stated.memory >= small.memory && stated.memory <= large.memory &&
         stated.compute <= small.compute && stated.compute >= large.compute;
}

/// Returns the position of the device's GPU: found by its uuid, or else by its index.
std::optional<std::size_t> position_of(const SimNode& node, const Device& device) {
  const auto at = [&](const auto& same) -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(node.gpus, same);
    if (found == node.gpus.end()) return std::nullopt;
    return static_cast<std::size_t>(found - node.gpus.begin());
  };
  std::optional<std::size_t> found;
  if (!device.uuid.empty()) found = at([&](const SimGpu& g) { return g.uuid == device.uuid; });
  if (!found) found = at([&](const SimGpu& g) { return g.index == device.index; });
  return found;
}

/// Returns what the device takes of the GPU. Closes the GPU if the device does not match it.
Amounts counted(const Device& device, const PlainContainer* ask, const SimGpu& gpu, GpuUse& use) {
  const Amounts stated{device.memory, device.compute};
  Amounts amounts = device.mode == "whole" ? Amounts{gpu.memory, kWholeMilli} : stated;
  if (!device.uuid.empty() && !gpu.uuid.empty() && device.uuid != gpu.uuid) use.closed = true;
  if (!allows(gpu, device.mode)) use.closed = true;
  const bool sized = ask != nullptr && device.mode != "mig";
  if (sized && !credible(*ask, stated, gpu.memory)) {
    use.closed = true;
    const Amounts today = ask->cost(gpu.memory);
    amounts.memory = std::max({amounts.memory, stated.memory, today.memory});
    amounts.compute = std::max({amounts.compute, stated.compute, today.compute});
  } else if (sized && ask->kind == PlainContainer::Kind::kFraction) {
    amounts.memory = ask->cost(gpu.memory).memory;
    ++use.fractions;
  }
  return amounts;
}

/// Adds a slice of a pod to `use`. Returns the least that the slice costs. `own` are the pod's
/// slices on this GPU, which count once.
Amounts add_slice(const SimNode& node, const SimGpu& gpu, const PlainSlice& slice, GpuUse& use,
                  std::set<std::pair<std::string, int>>& own) {
  const PlainCard& card = *card_of(gpu);
  if (!card.legal(slice)) {
    const bool on_axis = slice.start + slice.size <= card.axis;
    use.slices.taken |= on_axis ? slice.range() : (std::uint64_t{1} << card.axis) - 1;
    use.closed = true;
    return {};
  }
  if (own.emplace(slice.profile, slice.start).second) {
    if (!use.slices.room_for(card, slice)) use.closed = true;
    use.slices.add(card, slice);
    const bool exists = std::ranges::any_of(gpu.instances, [&](const PlainSlice& there) {
      return there.profile == slice.profile && there.start == slice.start &&
             (slice.uuid.empty() || there.uuid == slice.uuid);
    });
    if (!node.dynamic && !exists) use.closed = true;
  }
  return card.cost(*card.find(slice.profile));
}

void add_holder(const SimNode& node, const Holder& holder, NodeUse& use) {
  const Held& held = holder.held->held;
  std::map<GpuUse*, std::vector<Part>> parts;
  std::map<GpuUse*, std::set<std::pair<std::string, int>>> slices;
  for (const Device& device : held.devices) {
    const PlainContainer* ask = holder.held->ask.find(device.container);
    const auto at = position_of(node, device);
    GpuUse& gpu = at ? use.gpus[*at] : use.vanished[{device.index, device.uuid}];
    Part part;
    if (ask != nullptr) part = {ask->runs, ask->position, {}};
    part.amounts =
        at ? counted(device, ask, node.gpus[*at], gpu)
           : Amounts{device.memory, device.mode == "whole" ? kWholeMilli : device.compute};
    if (at && node.gpus[*at].mig && !device.slice.profile.empty()) {
      const Amounts cost = add_slice(node, node.gpus[*at], device.slice, gpu, slices[&gpu]);
      part.amounts.memory = std::max(part.amounts.memory, cost.memory);
      part.amounts.compute = std::max(part.amounts.compute, cost.compute);
    }
    parts[&gpu].push_back(part);
    gpu.modes.insert(device.mode);
    gpu.namespaces.insert(holder.pod->name_space);
  }
  for (const auto& [gpu, all] : parts) {
    const Amounts sum = together(all);
    gpu->used.memory += sum.memory;
    gpu->used.compute += sum.compute;
  }
  for (const auto& [resource, count] : held.units) use.units += count;
  use.devices = use.devices || !held.devices.empty();
  use.kubelet = use.kubelet || !held.units.empty();
  use.unplaced = use.unplaced || held.unplaced;
  if (!held.devices.empty() || !held.units.empty()) use.namespaces.insert(holder.pod->name_space);
}

}  // namespace

NodeUse use_of(const SimNode& node, const std::vector<Holder>& holders) {
  NodeUse use;
  use.gpus.resize(node.gpus.size());
  for (const Holder& holder : holders) {
    if (holder.node == node.name) add_holder(node, holder, use);
  }
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    GpuUse& gpu = use.gpus[i];
    // Because of rounding, each share by fraction may cost up to 1 MiB more than when it was
    // assigned.
    const std::int64_t beyond = gpu.used.memory - node.gpus[i].memory;
    const bool over = (beyond > 0 && beyond >= gpu.fractions) || gpu.used.compute > kWholeMilli;
    const bool too_much = over && !node.gpus[i].mig;  // slices are checked by position instead
    if (!node.gpus[i].healthy || gpu.modes.size() > 1 || too_much) gpu.closed = true;
  }
  return use;
}

std::int64_t compute_of(const Holder& holder, const std::map<std::string, SimNode>& nodes) {
  std::map<std::pair<int, std::string>, std::vector<Part>> parts;
  for (const Device& device : holder.held->held.devices) {
    const PlainContainer* ask = holder.held->ask.find(device.container);
    Part part;
    if (ask != nullptr) part = {ask->runs, ask->position, {}};
    part.amounts.compute = device.mode == "whole" ? kWholeMilli : device.compute;
    parts[{device.index, device.uuid}].push_back(part);
  }
  std::int64_t sum = 0;
  for (const auto& [gpu, all] : parts) sum += together(all).compute;
  const auto node = nodes.find(holder.node);
  for (const auto& [resource, count] : holder.held->held.units) {
    if (node == nodes.end()) continue;
    sum += count * ((kWholeMilli + node->second.replicas - 1) / node->second.replicas);
  }
  return sum;
}

namespace {

using Asks = std::vector<const PlainContainer*>;

/// Returns the mode of the GPU for containers that all request shares, or an empty string if no
/// mode serves all of them.
std::string sharing_mode(const Asks& asks, const SimGpu& gpu, const GpuUse& use) {
  std::string mode;
  if (!use.modes.empty()) {
    mode = *use.modes.begin();
  } else {
    for (const PlainContainer* ask : asks) {
      if (ask->isolation != "any") mode = ask->isolation;
    }
    for (const std::string& first : gpu.modes) {
      if (mode.empty() && first != "whole") mode = first;
    }
  }
  if (mode != "time-slicing" && mode != "mps") return {};
  for (const PlainContainer* ask : asks) {
    if (ask->isolation != "any" && ask->isolation != mode) return {};
  }
  return allows(gpu, mode) ? mode : std::string();
}

/// As obstacle_on(), for a GPU in MIG mode.
const char* obstacle_to_slices(const Asks& asks, const Room& room, std::size_t at,
                               std::int64_t& compute) {
  const SimGpu& gpu = room.node.gpus[at];
  for (const PlainContainer* ask : asks) {
    if (!ask->takes(gpu.model)) return "gpu-model does not take it";
    if (ask->whole()) return "it may not be had whole";
    if (ask->isolation != "any" && ask->isolation != "mig") return "it serves slices only";
  }
  for (const std::string& other : room.use.gpus[at].namespaces) {
    if (room.policy.keeps_apart(room.name_space, other)) return "the neighbours are kept apart";
  }
  const std::vector<SliceWant> wants = slice_wants(gpu, room.node.dynamic, asks);
  if (wants.empty()) return "no profile serves that";
  std::vector<Part> parts;
  for (const SliceWant& want : wants) {
    parts.push_back(
        {want.ask->runs, want.ask->position, card_of(gpu)->cost(*wants[want.owner].profile)});
  }
  compute += together(parts).compute;
  const bool room_left = any_places(gpu, room.node.dynamic, slices_beside(room, at), wants,
                                    [](const auto&) { return true; });
  return room_left ? nullptr : "there is no room for the slices";
}

/// Returns why the pod may not take this GPU, or null if it may. Sets `mode`, and adds to `compute`
/// what the pod takes.
const char* obstacle_on(const Asks& asks, const Room& room, std::size_t at, std::string& mode,
                        std::int64_t& compute) {
  const SimGpu& gpu = room.node.gpus[at];
  const GpuUse& use = room.use.gpus[at];
  if (use.closed) return "the GPU is closed";
  if (gpu.mig) {
    mode = "mig";
    return obstacle_to_slices(asks, room, at, compute);
  }
  std::vector<Part> parts;
  int owners = 0;  // containers, other than init containers, that request it whole
  bool whole = false;
  bool only_inits_share = true;
  for (const PlainContainer* ask : asks) {
    if (!ask->takes(gpu.model)) return "gpu-model does not take it";
    if (ask->kind == PlainContainer::Kind::kSlice) return "it has no slices";
    parts.push_back({ask->runs, ask->position, ask->cost(gpu.memory)});
    const bool init = ask->runs == model::ContainerType::kInit;
    if (ask->whole()) {
      whole = true;
      owners += init ? 0 : 1;
    } else if (!init || ask->isolation != "any") {
      only_inits_share = false;
    }
  }
  const Amounts all = together(parts);
  compute += all.compute;
  if (whole) {
    mode = "whole";
    if (!use.modes.empty()) return "it is not empty";
    if (!allows(gpu, mode)) return "it may not be had whole";
    if (owners > 1 || !only_inits_share) return "a whole GPU is shared";
  } else {
    const bool enforced = room.node.enforced || !room.policy.of(room.name_space).enforced;
    if (!enforced) return "shares are not enforced";
    mode = sharing_mode(asks, gpu, use);
    if (mode.empty()) return "it does not serve such a share";
    for (const std::string& other : use.namespaces) {
      if (room.policy.keeps_apart(room.name_space, other)) return "the neighbours are kept apart";
    }
  }
  const bool room_left =
      all.memory <= gpu.memory - use.used.memory && all.compute <= kWholeMilli - use.used.compute;
  return room_left ? nullptr : "there is no room";
}

}  // namespace

SliceUse slices_beside(const Room& room, std::size_t gpu) {
  SliceUse use = room.use.gpus[gpu].slices;
  use.taken |= room.node.failed_on(room.node.gpus[gpu]);
  return use;
}

const char* obstacle(const PlainAsk& ask, const Room& room, const std::vector<Take>& takes,
                     std::map<std::size_t, std::string>& modes) {
  std::map<std::size_t, Asks> by_gpu;
  for (const Take& take : takes) by_gpu[take.gpu].push_back(&ask.containers[take.container]);
  std::int64_t compute = 0;
  for (const auto& [gpu, asks] : by_gpu) {
    if (const char* why = obstacle_on(asks, room, gpu, modes[gpu], compute)) return why;
  }
  return compute > room.cap_left ? "the namespace may not have so much" : nullptr;
}

const char* obstacle_to_kind(const PlainAsk& ask, const Room& room) {
  const SimNode& node = room.node;
  const NodeUse& use = room.use;
  if (ask.malformed) return "the request is malformed";
  if (node.gpus.empty() || node.stale) return "the node has no GPUs that are known";
  const bool enforced = node.enforced || !room.policy.of(room.name_space).enforced;
  if (ask.units == 0) {
    if (node.pool == "whole") return "the pool is whole";
    if (node.labels_only && node.healthy() < std::ssize(node.gpus)) return "a GPU is unhealthy";
    if (node.replicated() && node.pool != "shares") return "the GPUs are offered as replicas";
    if (use.kubelet || use.unplaced) return "the other kind is there";
    return enforced || !ask.shares() || node.has_slices() ? nullptr : "shares are not enforced";
  }
  if (node.pool == "shares") return "the pool is shares";
  if (use.devices || use.unplaced) return "the other kind is there";
  if (node.replicated() && !enforced) return "replicas are not enforced";
  if (ask.units > node.units() - use.units) return "there are no units left";
  if (ask.units * ((kWholeMilli + node.replicas - 1) / node.replicas) > room.cap_left) {
    return "the namespace may not have so much";
  }
  for (const std::string& other : use.namespaces) {
    if (node.replicated() && room.policy.keeps_apart(room.name_space, other)) {
      return "the neighbours are kept apart";
    }
  }
  return nullptr;
}

namespace {

class Choices {
 public:
  Choices(const PlainAsk& ask, const Room& room,
          const std::function<bool(std::shared_ptr<const PlainHeld>)>& visit)
      : ask_(ask), room_(room), visit_(visit) {}

  bool from(std::size_t container, std::int64_t device, std::size_t first) {
    if (container == ask_.containers.size()) return complete();
    const PlainContainer& asks = ask_.containers[container];
    if (device == asks.count) return from(container + 1, 0, 0);
    for (std::size_t gpu = first; gpu < room_.node.gpus.size(); ++gpu) {
      if (room_.use.gpus[gpu].closed || !asks.takes(room_.node.gpus[gpu].model)) continue;
      takes_.push_back({container, gpu});
      const bool done = from(container, device + 1, gpu + 1);
      takes_.pop_back();
      if (done) return true;
    }
    return false;
  }

 private:
  bool complete() {
    std::map<std::size_t, std::string> modes;
    if (obstacle(ask_, room_, takes_, modes) != nullptr) return false;
    PlainHeld result{.held = {}, .ask = ask_};
    for (const Take& take : takes_) {
      const SimGpu& gpu = room_.node.gpus[take.gpu];
      const PlainContainer& asks = ask_.containers[take.container];
      const Amounts cost = asks.cost(gpu.memory);
      result.held.devices.push_back(
          {asks.name, gpu.index, gpu.uuid, modes[take.gpu], cost.memory, cost.compute});
    }
    return with_slices(0, result);
  }

  /// Tries all choices of slices on the GPUs from `gpu` on. `so_far` has the slices on the GPUs
  /// before it.
  bool with_slices(std::size_t gpu, const PlainHeld& so_far) {
    while (gpu < room_.node.gpus.size() && !(room_.node.gpus[gpu].mig && taken(gpu))) ++gpu;
    if (gpu == room_.node.gpus.size()) return visit_(std::make_shared<const PlainHeld>(so_far));
    const SimGpu& on = room_.node.gpus[gpu];
    std::vector<std::size_t> mine;
    Asks asks;
    for (std::size_t i = 0; i < takes_.size(); ++i) {
      if (takes_[i].gpu != gpu) continue;
      mine.push_back(i);
      asks.push_back(&ask_.containers[takes_[i].container]);
    }
    const bool dynamic = room_.node.dynamic;
    return any_places(on, dynamic, slices_beside(room_, gpu), slice_wants(on, dynamic, asks),
                      [&](const std::vector<PlainSlice>& slices) {
                        PlainHeld with = so_far;
                        for (std::size_t i = 0; i < mine.size(); ++i) {
                          Device& device = with.held.devices[mine[i]];
                          device.slice = slices[i];
                          const Amounts cost =
                              card_of(on)->cost(*card_of(on)->find(slices[i].profile));
                          device.memory = cost.memory;
                          device.compute = cost.compute;
                        }
                        return with_slices(gpu + 1, with);
                      });
  }

  [[nodiscard]] bool taken(std::size_t gpu) const {
    return std::ranges::find(takes_, gpu, &Take::gpu) != takes_.end();
  }

  const PlainAsk& ask_;
  const Room& room_;
  const std::function<bool(std::shared_ptr<const PlainHeld>)>& visit_;
  std::vector<Take> takes_;
};

}  // namespace

bool any_choice(const PlainAsk& ask, const Room& room,
                const std::function<bool(std::shared_ptr<const PlainHeld>)>& visit) {
  if (obstacle_to_kind(ask, room) != nullptr) return false;
  if (ask.units == 0) return Choices(ask, room, visit).from(0, 0, 0);
  PlainHeld result{.held = {}, .ask = ask};
  result.held.units[kGpuUnits] = ask.units;
  return visit(std::make_shared<const PlainHeld>(std::move(result)));
}

}  // namespace snug
