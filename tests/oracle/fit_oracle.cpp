#include "oracle/fit_oracle.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

namespace snug {
namespace {

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

// NOLINTNEXTLINE(misc-no-recursion): as deep as the texts are long
bool matches(std::string_view glob, std::string_view text) {
  if (glob.empty()) return text.empty();
  if (glob[0] == '*') {
    return matches(glob.substr(1), text) || (!text.empty() && matches(glob, text.substr(1)));
  }
  return !text.empty() && (glob[0] == '?' || small(glob[0]) == small(text[0])) &&
         matches(glob.substr(1), text.substr(1));
}

bool takes_model(const model::ModelFilter& filter, std::string_view model) {
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

}  // namespace

bool FitOracle::apart(const std::string& other) const {
  if (other == asker_.name_space) return false;
  return own_rule_.own_namespace_only || asker_.rule_of(other).own_namespace_only;
}

std::optional<std::int64_t> FitOracle::cap_left() const {
  if (!own_rule_.cap) return std::nullopt;
  return own_rule_.cap->value - asker_.held;
}

bool FitOracle::Gpu::allows(model::GpuMode wanted) const {
  return !info.mig_enabled && std::ranges::count(info.allowed_modes, wanted) > 0;
}

bool FitOracle::gate_says(model::ReasonCode reason, const model::GpuRequest& request) const {
  const bool kubelet = request.is_kubelet_assigned();
  if (reason == model::ReasonCode::kNone) return false;
  if (reason == node_.closed_to_all) return true;
  if (reason == node_.closed_to_annotated && !kubelet) return true;
  switch (reason) {
    case model::ReasonCode::kWrongPool:
      return node_.pool == (kubelet ? model::Pool::kShares : model::Pool::kWhole) ||
             (!kubelet && enforcer_lacks(request));
    case model::ReasonCode::kOtherKind:
      return kubelet ? with_devices_ + unplaced_ > 0 : with_units_ > 0;
    case model::ReasonCode::kNodeClosed:
      return !kubelet && unplaced_ > 0;
    case model::ReasonCode::kAgentAway:
      return node_.enforcement == model::Enforcement::kFailClosed && !node_.agent_alive;
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
  return !(node_.enforces_shares && node_.agent_alive) && own_rule_.require_enforcement;
}

bool FitOracle::enforcer_lacks(const model::GpuRequest& request) const {
  if (node_.other_enforcer == model::OtherEnforcer::kKoordlet) return request.containers.size() > 1;
  const auto has_long_name = [](const model::ContainerRequest& asked) {
    return ("container." + asked.container + ".gpu-compute.portion").size() > 63;
  };
  bool by_mps = false;
  bool by_time = false;
  for (const model::GpuInfo& gpu : node_.gpus) {
    by_mps = by_mps || std::ranges::count(gpu.allowed_modes, model::GpuMode::kMps) > 0;
    by_time = by_time || std::ranges::count(gpu.allowed_modes, model::GpuMode::kTimeSlicing) > 0;
  }
  const auto is_undecided = [&](const model::ContainerRequest& asked) {
    return by_mps && by_time && asked.count > 1 && !wants_whole(asked) && !names_slice(asked) &&
           asked.isolation == model::Isolation::kAny;
  };
  return node_.other_enforcer && (std::ranges::any_of(request.containers, has_long_name) ||
                                  std::ranges::any_of(request.containers, is_undecided));
}

bool FitOracle::gates_open(const model::GpuRequest& request, model::ReasonCode but) const {
  for (std::size_t code = 0; code < model::all_reasons().size(); ++code) {
    const auto reason = static_cast<model::ReasonCode>(code);
    if (reason != but && gate_says(reason, request)) return false;
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
    milli += milli_of_units(node_.replicas, resource, container.count);
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
  Assignment none;
  return extend(request, last, none,
                [&](const Assignment& chosen) { return serves(request, last, chosen); });
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are containers
bool FitOracle::extend(const model::GpuRequest& request, Rule last, Assignment& chosen,
                       const std::function<bool(const Assignment&)>& visit) const {
  if (chosen.size() == request.containers.size()) return visit(chosen);
  const model::ContainerRequest& asked = request.containers[chosen.size()];
  unsigned able = 0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) able |= alone(asked, gpus_[i], last) ? 1U << i : 0;
  // All sets of those that are able, the empty one last.
  for (unsigned gpus = (0U - able) & able; gpus != 0; gpus = (gpus - able) & able) {
    if (std::popcount(gpus) != asked.count) continue;
    chosen.push_back(gpus);
    const bool done = extend(request, last, chosen, visit);
    chosen.pop_back();
    if (done) return true;
  }
  return false;
}

bool FitOracle::any_choice(const model::GpuRequest& request,
                           const std::function<bool(const Takes&)>& visit) const {
  if (!gates_open(request)) return false;
  if (request.is_kubelet_assigned()) {
    return reason_for_units(request) == model::ReasonCode::kNone && visit({});
  }
  Assignment none;
  return extend(request, Rule::kNeighbours, none, [&](const Assignment& chosen) {
    if (!serves(request, Rule::kNeighbours, chosen)) return false;
    Takes takes;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const Users users = users_of(request, chosen, gpu);
      const auto mode = mode_for(gpus_[gpu], users, Rule::kNeighbours);
      for (std::size_t c = 0; c < chosen.size(); ++c) {
        if ((chosen[c] >> gpu & 1U) == 0) continue;
        const Amounts price = cost(request.containers[c], gpus_[gpu].info.memory.value);
        takes.push_back({.container = static_cast<std::uint16_t>(c),
                         .gpu = static_cast<std::uint16_t>(gpu),
                         .mode = mode.value_or(model::GpuMode::kMig),
                         .memory = {price.memory},
                         .compute = {price.compute}});
      }
    }
    return with_slices(request, 0, takes, visit);
  });
}

/// What can be said of one container and one GPU.
bool FitOracle::alone(const model::ContainerRequest& asked, const Gpu& gpu, Rule last) const {
  const Amounts price = cost(asked, gpu.info.memory.value);
  const bool sized = !gpu.slices || wants_whole(asked);
  if (sized && (price.memory > gpu.info.memory.value || price.compute > kWholeMilli)) return false;
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

FitOracle::Users FitOracle::users_of(const model::GpuRequest& request, const Assignment& chosen,
                                     std::size_t gpu) {
  Users users;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if ((chosen[c] >> gpu & 1U) != 0) users.push_back(&request.containers[c]);
  }
  return users;
}

std::optional<std::int64_t> FitOracle::price_on(const model::GpuRequest& request, Rule last,
                                                const Assignment& chosen, std::size_t at) const {
  const Gpu& gpu = gpus_[at];
  const Users users = users_of(request, chosen, at);
  std::vector<MigOracle::User> sliced;
  std::vector<Part> parts;
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if ((chosen[c] >> at & 1U) == 0) continue;
    const model::ContainerRequest& asked = request.containers[c];
    sliced.push_back({.asked = &asked, .position = c});
    parts.push_back({asked.type, c, cost(asked, gpu.info.memory.value)});
  }
  if (users.empty()) return 0;
  const auto whole = [](const model::ContainerRequest* asked) { return wants_whole(*asked); };
  if (gpu.slices && std::ranges::none_of(users, whole)) {
    return slices_price(gpu, sliced, std::move(parts), last);
  }
  if (!mode_for(gpu, users, last)) return std::nullopt;
  const Amounts price = together(parts);
  const Amounts others = last >= Rule::kRoom ? gpu.used : Amounts{};
  const bool room = others.memory + price.memory <= gpu.info.memory.value &&
                    others.compute + price.compute <= kWholeMilli;
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
    const bool second_daemon = node_.enforcement && asked->count > 1;
    return content_with(asked->isolation, *mode) &&
           !(second_daemon && *mode == model::GpuMode::kMps);
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

/// An empty GPU follows whoever asks for a mode; where nobody does, the operator, unless one with
/// several GPUs cannot have what the operator would give.
std::optional<model::GpuMode> FitOracle::opened_by(const Gpu& gpu, const Users& users) const {
  for (const model::ContainerRequest* asked : users) {
    if (asked->isolation == model::Isolation::kTimeSlicing) return model::GpuMode::kTimeSlicing;
    if (asked->isolation == model::Isolation::kMps) return model::GpuMode::kMps;
  }
  const auto several = [](const model::ContainerRequest* asked) { return asked->count > 1; };
  if (node_.enforcement && std::ranges::any_of(users, several)) return model::GpuMode::kTimeSlicing;
  const auto first = std::ranges::find_if(gpu.info.allowed_modes, sharing);
  if (first == gpu.info.allowed_modes.end()) return std::nullopt;
  return *first;
}

std::string FitOracle::obstacle(const model::GpuRequest& request,
                                std::span<const model::DeviceAllocation> takes,
                                Beside beside) const {
  const auto code_of = [](model::ReasonCode reason) {
    return std::string(model::reason_row(reason).code);
  };
  for (std::size_t code = 0; code < model::all_reasons().size(); ++code) {
    const auto reason = static_cast<model::ReasonCode>(code);
    if (gate_says(reason, request)) return code_of(reason);
  }
  if (request.is_kubelet_assigned()) {
    if (!takes.empty()) return "devices for units";
    const model::ReasonCode reason = reason_for_units(request);
    return reason == model::ReasonCode::kNone ? "" : code_of(reason);
  }
  Assignment chosen(request.containers.size());
  for (const model::DeviceAllocation& take : takes) {
    const Gpu& gpu = gpus_.at(take.gpu);
    const model::ContainerRequest& asked = request.containers.at(take.container);
    if ((chosen[take.container] >> take.gpu & 1U) != 0) return "a GPU twice";
    const Amounts stated{take.memory.value, take.compute.value};
    if (!gpu.slices && stated != cost(asked, gpu.info.memory.value)) return "another price";
    chosen[take.container] |= 1U << take.gpu;
  }
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (std::popcount(chosen[c]) != request.containers[c].count) return "another number of GPUs";
  }
  const auto stands = [&](Rule last) {
    return serves(request, last, chosen) &&
           std::ranges::all_of(takes, [&](const model::DeviceAllocation& take) {
             return alone(request.containers[take.container], gpus_[take.gpu], last);
           });
  };
  if (!stands(Rule::kNeighbours)) {
    for (const Rule rule : {Rule::kSize, Rule::kModel, Rule::kMode, Rule::kHealth, Rule::kCap,
                            Rule::kRoom, Rule::kNeighbours}) {
      if (!stands(rule)) return code_of(reason_of(rule));
    }
  }
  if (!accepts_slices(request, takes)) return "another slice";
  for (const model::DeviceAllocation& take : takes) {
    const Gpu& gpu = gpus_[take.gpu];
    if (gpu.slices) continue;
    const auto mode = mode_for(gpu, users_of(request, chosen, take.gpu), Rule::kNeighbours);
    // Whoever is not shown may have opened it otherwise.
    const bool may_differ = beside == Beside::kMore && !gpu.held && mode && sharing(*mode) &&
                            sharing(take.mode) && gpu.allows(take.mode);
    if (mode != take.mode && !may_differ) return "another mode";
  }
  return "";
}

}  // namespace snug
