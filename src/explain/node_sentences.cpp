#include "explain/node_sentences.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "snug/base/text.hpp"
#include "snug/fit/charge.hpp"
#include "snug/fit/mig_free.hpp"
#include "snug/fit/other_enforcer.hpp"
#include "snug/fit/pod_charge.hpp"
#include "snug/mig/profile_choice.hpp"
#include "snug/plan/node_resources_fit.hpp"

namespace snug::explain {

std::string gpu_name(const model::NodeState& node, std::size_t gpu) {
  const model::GpuInfo& info = *node.gpus[gpu].info;
  return "GPU " + std::to_string(info.index) + (info.model.empty() ? "" : " (" + info.model + ")");
}

namespace {

constexpr std::int64_t kFullGpu = 1000;  // thousandths
constexpr std::size_t kLongList = 200;   // bytes after which a list ends with "…"

/// `20480 MiB and 25 %`
void append_amounts(std::string& text, std::int64_t memory_mib, std::int64_t compute_milli) {
  text.append(std::to_string(memory_mib))
      .append(" MiB and ")
      .append(base::percent_of_gpu({compute_milli}));
}

/// What the container needs of a GPU of this size. A slice is charged as the whole card here.
fit::Charge need_of(const model::ContainerRequest& container_request, const model::GpuState& gpu) {
  if (std::holds_alternative<model::SliceRequest>(container_request.device))
    return {gpu.memory, base::kWholeGpu};
  return fit::charge(container_request, gpu.memory);
}

/// The trial's request has one container.
GpuShortfall gpu_shortfall(Trial& trial, const model::NodeState& node, std::size_t position) {
  const model::GpuState& gpu = node.gpus[position];
  // The size of a vanished GPU may be unknown. No room helps on a GPU that is not suitable.
  if (gpu.memory.value <= 0 || !trial.is_suitable(node, position))
    return {.gpu = position, .thousandths = 2 * kFullGpu};
  const model::ContainerRequest& container_request = trial.incoming().request.containers.front();
  const fit::Charge need = need_of(container_request, gpu);
  const bool open = gpu.closure == model::GpuClosure::kOpen;
  const std::int64_t free_memory = open ? gpu.free_memory().value : 0;
  const std::int64_t free_compute = open ? gpu.free_compute().value : 0;
  GpuShortfall shortfall{
      .gpu = position,
      .memory_mib = std::max<std::int64_t>(0, need.memory.value - free_memory),
      .compute_milli = std::max<std::int64_t>(0, need.compute.value - free_compute)};
  const std::int64_t capacity = std::max<std::int64_t>(1, gpu.memory.value);
  // Rounded up: 0 means that nothing is missing.
  shortfall.thousandths = std::max((kFullGpu * shortfall.memory_mib + capacity - 1) / capacity,
                                   shortfall.compute_milli);
  return shortfall;
}

/// The GPUs that would have to get the least room to serve the container: as many as it needs, or
/// all if the node has fewer. The one that lacks most is the last. The trial's request has one
/// container, and the node has GPUs.
std::vector<GpuShortfall> nearest_gpus(Trial& trial, const model::NodeState& node) {
  std::vector<GpuShortfall> shortfalls;
  shortfalls.reserve(node.gpus.size());
  for (std::size_t i = 0; i < node.gpus.size(); ++i)
    shortfalls.push_back(gpu_shortfall(trial, node, i));
  const std::int64_t count = trial.incoming().request.containers.front().count;
  const auto needed = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::max<std::int64_t>(count, 0)), 1, shortfalls.size());
  const auto last = shortfalls.begin() + static_cast<std::ptrdiff_t>(needed - 1);
  std::ranges::nth_element(shortfalls, last, {}, [](const GpuShortfall& shortfall) {
    return std::pair(shortfall.thousandths, shortfall.gpu);
  });
  shortfalls.resize(needed);
  return shortfalls;
}

/// `8 x NVIDIA-A100-SXM4-40GB with 40960 MiB`, and the same for each other model of the node.
std::string gpus_text(const model::NodeState& node) {
  std::map<std::pair<std::string_view, std::int64_t>, int> kinds;
  for (const model::GpuState& gpu : node.gpus) ++kinds[{gpu.info->model, gpu.memory.value}];
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text.append(text.empty() ? "" : ", ")
        .append(std::to_string(count))
        .append(" x ")
        .append(kind.first.empty() ? "GPU" : kind.first)
        .append(" with ")
        .append(std::to_string(kind.second))
        .append(" MiB");
  }
  return text.empty() ? "no GPU" : text;
}

std::string modes_text(const model::NodeState& node) {
  std::string text;
  for (const model::GpuState& gpu : node.gpus) {
    if (text.size() > kLongList) return text + "…";
    std::string modes;
    for (const model::GpuMode mode : gpu.info->allowed_modes)
      modes.append(modes.empty() ? "" : ", ").append(model::to_string(mode));
    if (gpu.info->mig_enabled) modes = "slices only";
    if (modes.empty()) modes = "none";
    if (gpu.mode != model::GpuMode::kNone && !gpu.info->mig_enabled)
      modes.append("; now ").append(model::to_string(gpu.mode));
    text.append(text.empty() ? "" : "; ")
        .append("GPU ")
        .append(std::to_string(gpu.info->index))
        .append(": ")
        .append(modes);
  }
  return text;
}

/// `snug.dev/enforcer is koordlet, which gives no slices`; empty if the node has no such enforcer.
std::string enforcer_text(const model::NodeState& node, std::string_view lack) {
  const auto enforcer = node.inventory->other_enforcer;
  if (!enforcer) return {};
  std::string text = "snug.dev/enforcer is ";
  text.append(model::kOtherEnforcerNames[*enforcer]).append(", which ");
  return text.append(lack);
}

/// What the node's enforcer does not give to any pod, after `text`.
std::string with_enforcer(std::string text, const model::NodeState& node) {
  const bool has_mps = node.inventory->other_enforcer != model::OtherEnforcer::kKoordlet;
  const std::string lack =
      enforcer_text(node, has_mps ? "gives no slices" : "gives no slices and has no MPS");
  return lack.empty() ? text : std::move(text) + "; " + lack;
}

/// Whether the request has shares of several GPUs for one container, which the node cannot serve in
/// the mode mps, as the modes alone do not show.
bool needs_second_daemon(const model::NodeState& node, const model::GpuRequest& request) {
  const auto has_several = [](const model::ContainerRequest& container) {
    return model::is_share(container.device) && container.count > 1;
  };
  const auto allows_mps = [](const model::GpuInfo& gpu) {
    return std::ranges::find(gpu.allowed_modes, model::GpuMode::kMps) != gpu.allowed_modes.end();
  };
  return node.inventory->enforcement && std::ranges::any_of(request.containers, has_several) &&
         std::ranges::any_of(node.inventory->gpus, allows_mps);
}

std::string wrong_mode_text(const model::NodeState& node, const model::GpuRequest& request) {
  // The node as a whole may be closed, because it lends its GPUs as slices, for example.
  if (node.annotated_refusal == model::ReasonCode::kWrongMode)
    return node.inventory->closed_message;
  std::string text = with_enforcer(modes_text(node), node);
  if (needs_second_daemon(node, request)) {
    text +=
        "; on a node with an agent, a container that gets shares of several GPUs gets none in "
        "the mode mps, since CUDA uses the MPS daemon of one GPU";
  }
  return text;
}

std::string slices_text(const model::NodeState& node, const model::ContainerRequest& container,
                        std::size_t position) {
  const model::GpuState& gpu = node.gpus[position];
  const fit::MigFree free = fit::mig_free(*node.inventory, gpu);
  const int idle = std::popcount(free.idle());
  std::string text = gpu_name(node, position) + " of node " + node.name() + " has " +
                     std::to_string(idle) + " of " + std::to_string(free.table->memory_slices) +
                     " memory slices free, ";
  const auto requirement = mig::slice_requirement(container);
  const auto profile = requirement ? free.profile_for(*requirement) : std::nullopt;
  const int needed = profile ? free.table->profiles[*profile].size : 0;
  return text + (needed > idle ? "and " + std::to_string(needed) + " are needed"
                               : "but not at the places that the request needs");
}

std::string units_text(const model::NodeState& node, const model::GpuRequest& request) {
  std::map<std::string_view, std::int64_t> requested;
  for (const model::ContainerRequest& container_request : request.containers) {
    requested[std::get<model::KubeletRequest>(container_request.device).resource] +=
        container_request.count;
  }
  std::string text;
  for (const auto& [resource, count] : requested) {
    text.append(text.empty() ? "" : "; ")
        .append(std::to_string(model::units_of(node.kubelet_used, resource)))
        .append(" of ")
        .append(std::to_string(model::units_of(node.inventory->kubelet_allocatable, resource)))
        .append(" ")
        .append(resource)
        .append(" of node ")
        .append(node.name())
        .append(" in use, ")
        .append(std::to_string(count))
        .append(" requested");
  }
  return text;
}

/// `GPU 0 (…) of node n1 lacks 1024 MiB and 0 %: 0 MiB and 50 % are free, 1024 MiB …`
std::string lack_text(const model::NodeState& node, const model::GpuRequest& request,
                      const GpuShortfall& shortfall) {
  const model::GpuState& gpu = node.gpus[shortfall.gpu];
  const model::ContainerRequest& container_request = request.containers[shortfall.container];
  const fit::Charge need = need_of(container_request, gpu);
  std::string text = gpu_name(node, shortfall.gpu);
  text.append(" of node ").append(node.name()).append(" lacks ");
  append_amounts(text, shortfall.memory_mib, shortfall.compute_milli);
  text += ": ";
  append_amounts(text, gpu.free_memory().value, gpu.free_compute().value);
  text += " are free, ";
  append_amounts(text, need.memory.value, need.compute.value);
  text += " are needed";
  if (request.containers.size() > 1)
    text.append(" by container ").append(container_request.container);
  if (container_request.count > 1)
    text.append(" on each of ").append(std::to_string(container_request.count)).append(" GPUs");
  return text;
}

std::string room_text(Trial& trial, const model::NodeState& node,
                      const std::optional<GpuShortfall>& known) {
  const model::GpuRequest& request = trial.incoming().request;
  if (request.is_kubelet_assigned()) return units_text(node, request);
  if (node.gpus.empty()) return "node " + node.name() + " has no GPU";
  const GpuShortfall shortfall = known ? *known : shortfall_of(trial, node);
  const model::GpuState& gpu = node.gpus[shortfall.gpu];
  const bool none_lacks = request.containers.size() > 1 && shortfall.thousandths == 0;
  if (fit::serves_slices(*gpu.info) && !none_lacks)
    return slices_text(node, request.containers[shortfall.container], shortfall.gpu);
  if (gpu.closure != model::GpuClosure::kOpen) {
    return gpu_name(node, shortfall.gpu) + " of node " + node.name() +
           " is closed: " + std::string(model::to_string(gpu.closure));
  }
  if (shortfall.thousandths > 0) return lack_text(node, request, shortfall);
  std::string text = "the containers' requests do not fit together on node " + node.name() +
                     "; its " + gpu_name(node, shortfall.gpu) + " has ";
  append_amounts(text, gpu.free_memory().value, gpu.free_compute().value);
  return text + " free";
}

std::string closed_gpus_text(const model::NodeState& node) {
  std::string text;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const model::GpuState& gpu = node.gpus[i];
    if (gpu.closure == model::GpuClosure::kOpen) continue;
    if (text.size() > kLongList) return text + "…";
    text.append(text.empty() ? "" : "; ")
        .append(gpu_name(node, i))
        .append(" of node ")
        .append(node.name())
        .append(" is closed: ")
        .append(model::to_string(gpu.closure));
  }
  return text;
}

/// What is missing of a resource; 0: the request fits, by the rule of plan::resource_fits().
std::int64_t missing_of(std::int64_t requested, std::int64_t used, std::int64_t allocatable) {
  if (plan::resource_fits(requested, used, allocatable)) return 0;
  std::int64_t taken = 0;
  if (__builtin_add_overflow(requested, used, &taken))
    taken = std::numeric_limits<std::int64_t>::max();
  return taken - allocatable;
}

/// `amount` in thousandths of `all`; not too large for sums.
std::int64_t thousandths_of(std::int64_t amount, std::int64_t all) {
  return amount / std::max<std::int64_t>(1, all / 1000);
}

/// `2 CPUs`, `1 CPU`, `0.5 CPUs`.
std::string cpu_text(std::int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 != 0) {
    text += "." + std::to_string(1000 + milli % 1000).substr(1);
    while (text.ends_with('0')) text.pop_back();
  }
  return text + (milli == 1000 ? " CPU" : " CPUs");
}

/// `4 GiB`, `4.5 GiB`, `200 MiB`; rounded up, so that so much suffices.
std::string memory_text(std::int64_t bytes) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  constexpr std::int64_t kMiBOfGiB = 1024;
  const std::int64_t mib = bytes / kMiB + (bytes % kMiB == 0 ? 0 : 1);
  if (mib < kMiBOfGiB) return std::to_string(mib) + " MiB";
  const std::int64_t tenths = (10 * mib + kMiBOfGiB - 1) / kMiBOfGiB;
  const std::string tenth = tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10);
  return std::to_string(tenths / 10) + tenth + " GiB";
}

std::string cap_text(const Trial& trial) {
  const plan::IncomingPod& incoming = trial.incoming();
  const auto& cap = incoming.sharing.rule_for(incoming.name_space).cap;
  return "namespace " + std::string(incoming.name_space) + " holds " +
         std::to_string(trial.snapshot().namespace_usage.of(incoming.name_space).value) +
         " milli-GPU of its cap of " + std::to_string(cap ? cap->value : 0);
}

/// `node n1: team/a, team/b`: the pods to which the room is promised.
std::string promised_text(const Trial& trial, const model::NodeState& node) {
  std::string text = "node " + node.name();
  const auto slot = trial.snapshot().names->find(node.name());
  if (!slot) return text;
  const char* separator = ": ";
  for (const model::HoldingPtr& intent : trial.counted_intents(slot->value)) {
    if (text.size() > kLongList) return text + "…";
    text.append(separator).append(intent->name_space).append("/").append(intent->pod);
    separator = ", ";
  }
  return text;
}

/// By position in NodeState::gpus: whether the pod needs room on the GPU.
std::vector<bool> lacking_gpus(Trial& trial, const model::NodeState& node) {
  const bool is_any = trial.incoming().request.is_kubelet_assigned();
  std::vector<bool> lacking(node.gpus.size(), is_any);
  if (is_any || node.gpus.empty()) return lacking;
  const GpuShortfall most = shortfall_of(trial, node);
  lacking[most.gpu] = true;
  for (const GpuShortfall& gpu : nearest_gpus(trial.of_container(most.container), node))
    if (gpu.thousandths > 0) lacking[gpu.gpu] = true;
  return lacking;
}

/// Adds a row for each GPU of `lacking` that the pod holds, and one if the kubelet assigned devices
/// to it or if it closes the node.
void add_blockers(const model::Holding& pod, const model::NodeState& node,
                  const std::vector<bool>& lacking, std::vector<std::pair<bool, Blocker>>& rows) {
  const Blocker nothing{
      .node = node.name(), .gpu = {}, .name_space = pod.name_space, .pod = pod.pod, .uid = pod.uid};
  Blocker without_gpu = nothing;
  std::map<std::size_t, std::pair<Blocker, fit::PodCharge>> by_gpu;
  const std::vector<model::ReservedContainer>& containers = pod.reservation.containers;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const model::ReservedContainer& container = containers[c];
    if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned))
      without_gpu.units += units->count;
    for (const model::ReservedDevice& device : container.devices()) {
      const auto position = node.find_gpu(device);
      if (!position || !lacking[*position]) continue;
      auto& [blocker, charge] =
          by_gpu.try_emplace(*position, nothing, fit::PodCharge()).first->second;
      blocker.gpu = device.index;
      charge.add(pod.container_type(c), c, {.memory = device.memory, .compute = device.compute});
    }
  }
  if (pod.unplaced || without_gpu.units > 0)
    rows.emplace_back(pod.unplaced, std::move(without_gpu));
  for (auto& [position, held] : by_gpu) {
    auto& [blocker, charge] = held;
    blocker.memory_mib = charge.total().memory.value;
    blocker.compute_milli = charge.total().compute.value;
    rows.emplace_back(false, std::move(blocker));
  }
}

}  // namespace

GpuShortfall shortfall_of(Trial& trial, const model::NodeState& node) {
  const model::GpuRequest& request = trial.incoming().request;
  if (request.is_kubelet_assigned() || node.gpus.empty()) return {};
  GpuShortfall most;
  for (std::size_t i = 0; i < request.containers.size(); ++i) {
    Trial& alone = trial.of_container(i);
    GpuShortfall shortfall;
    if (request.containers.size() == 1 || !alone.gpus_have_room(node))
      shortfall = nearest_gpus(alone, node).back();
    shortfall.container = i;
    if (i == 0 || shortfall.thousandths > most.thousandths) most = shortfall;
  }
  return most;
}

HostShortfall host_shortfall_of(const model::NodeState& node,
                                const model::HostResources& requested) {
  const model::HostAllocatable& host = node.inventory->host;
  if (!host.known) return {};
  const model::HostResources& all = host.resources;
  HostShortfall shortfall{
      .cpu_milli = missing_of(requested.cpu_milli, node.host_used.cpu_milli, all.cpu_milli),
      .memory_bytes =
          missing_of(requested.memory_bytes, node.host_used.memory_bytes, all.memory_bytes),
      .pod_slot = !plan::resource_fits(1, node.pod_count, host.pod_slots)};
  const std::int64_t one_slot = 1000 / std::max<std::int64_t>(1, host.pod_slots);
  shortfall.thousandths = std::max({thousandths_of(shortfall.cpu_milli, all.cpu_milli),
                                    thousandths_of(shortfall.memory_bytes, all.memory_bytes),
                                    shortfall.pod_slot ? one_slot : 0});
  shortfall.even_if_empty = !plan::node_resources_fit(host, {}, 0, requested);
  return shortfall;
}

std::uint16_t distance(const HostShortfall& shortfall) {
  using enum model::ReasonCode;
  if (shortfall.even_if_empty) return model::reason_row(kTooLarge).distance;
  return static_cast<std::uint16_t>(model::reason_row(kOtherKind).distance + 1);
}

std::string host_text(const HostShortfall& shortfall) {
  std::string amounts_text;
  if (shortfall.cpu_milli > 0) amounts_text = cpu_text(shortfall.cpu_milli);
  if (shortfall.memory_bytes > 0) {
    amounts_text.append(amounts_text.empty() ? "" : " and ")
        .append(memory_text(shortfall.memory_bytes))
        .append(" of memory");
  }
  std::string text;
  if (!amounts_text.empty()) text = "lacks " + amounts_text;
  if (shortfall.pod_slot) text += amounts_text.empty() ? "has " : " and has ";
  if (shortfall.pod_slot) text += "no free pod slot";
  return text + (shortfall.even_if_empty ? "; it is too small for the pod even when empty" : "");
}

std::string host_sentence(const model::NodeState& node, const model::HostResources& requested) {
  return "the GPUs of node " + node.name() + " have room, but the node " +
         host_text(host_shortfall_of(node, requested));
}

std::string node_sentence(Trial& trial, const model::NodeState& node, model::ReasonCode reason,
                          const std::optional<GpuShortfall>& known) {
  using enum model::ReasonCode;
  const auto with = [&](const std::string& details) {
    std::string text = model::message(reason);
    if (!details.empty()) text.append(" (").append(details).append(")");
    return text;
  };
  switch (reason) {
    case kNone:
      return "the pod fits on node " + node.name();
    case kCapReached:
      return with(cap_text(trial));
    case kBadInventory:
    case kReconfiguring:
      return with(node.inventory->closed_message);
    case kUnhealthy: {
      const std::string closed = closed_gpus_text(node);
      return with(closed.empty() ? node.inventory->closed_message : closed);
    }
    case kAgentAway:
      return with("the Lease agent." + node.name() + " is missing or is not renewed");
    case kWrongPool: {
      const model::GpuRequest& request = trial.incoming().request;
      // With kWrongPool for every annotated pod, the pool is the reason.
      if (request.is_kubelet_assigned() || node.annotated_refusal == kWrongPool)
        return with("snug.dev/pool is " + std::string(model::to_string(node.inventory->pool)));
      return with(enforcer_text(node, fit::unexpressed(*node.inventory, request)));
    }
    case kWrongMode:
      return with(wrong_mode_text(node, trial.incoming().request));
    case kNoProfile:
      return with(with_enforcer("node " + node.name() + " has " + gpus_text(node), node));
    case kModelExcluded:
    case kTooLarge:
      return with("node " + node.name() + " has " + gpus_text(node));
    case kNoRoom:
      return with(room_text(trial, node, known));
    case kPromised:
      return with(promised_text(trial, node));
    default:
      return with("node " + node.name());
  }
}

std::vector<Blocker> blockers_on(Trial& trial, const model::NodeState& node) {
  const std::vector<bool> lacking = lacking_gpus(trial, node);
  std::vector<std::pair<bool, Blocker>> rows;  // the first: whether the pod closes the node
  for (const model::HoldingPtr& holding : node.holdings)
    add_blockers(*holding, node, lacking, rows);
  std::ranges::stable_sort(rows, std::greater{}, [](const std::pair<bool, Blocker>& row) {
    const Blocker& blocker = row.second;
    return std::tuple(row.first, blocker.units, blocker.memory_mib, blocker.compute_milli);
  });
  if (rows.size() > kMaxBlockers) rows.resize(kMaxBlockers);
  std::vector<Blocker> blockers;
  blockers.reserve(rows.size());
  for (auto& row : rows) blockers.push_back(std::move(row.second));
  return blockers;
}

}  // namespace snug::explain
