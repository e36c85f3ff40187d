#include "sim/harness/naive_model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <variant>

namespace snug {
namespace {

std::string reservation_in(const model::StringMap& annotations) {
  const auto found = annotations.find("snug.dev/reservation");
  return found == annotations.end() ? std::string() : found->second;
}

Held parse_reservation(const nlohmann::json& json) {
  Held held;
  for (const auto& container : json.at("containers")) {
    if (container.contains("assignedBy")) {
      held.units[container.at("resource").get<std::string>()] +=
          container.at("count").get<std::int64_t>();
      continue;
    }
    for (const auto& device : container.at("devices")) {
      model::ReservedDevice& seen =
          held.devices.emplace_back(Device{container.at("name").get<std::string>(), {}}).given;
      seen = {.index = device.at("index").get<int>(),
              .uuid = device.value("uuid", ""),
              .mode = model::parse_gpu_mode(device.at("mode").get<std::string>()),
              .memory = {device.at("memoryMiB").get<std::int64_t>()},
              .compute = {device.at("computeMilli").get<std::int64_t>()}};
      if (const auto slice = device.find("mig"); slice != device.end()) {
        seen.slice = {slice->at("profile").get<std::string>(), slice->at("start").get<int>(),
                      slice->at("size").get<int>(), slice->value("uuid", "")};
      }
    }
  }
  std::sort(held.devices.begin(), held.devices.end());
  return held;
}

/// By container: those that ask in the order of the request, and others after them.
model::HoldingPtr holding_of(const model::PodFacts& pod, const std::string& node, const Held& held,
                             const PlainAsk& ask) {
  auto holding = std::make_shared<model::Holding>();
  holding->name_space = pod.name_space;
  holding->uid = pod.uid;
  holding->reservation.node = node;
  holding->unplaced = held.unplaced;
  auto& containers = holding->reservation.containers;
  for (const auto& [resource, count] : held.units) {
    containers.push_back({.assigned = model::KubeletUnits{resource, count}});
  }
  if (held.devices.empty()) return holding;
  for (const model::ContainerRequest& asked : ask.request.containers) {
    containers.push_back({.name = asked.container});
    holding->container_types.push_back(asked.type);
    holding->container_requests.emplace_back(asked);
  }
  for (const auto& [name, device] : held.devices) {
    auto container = std::ranges::find(containers, name, &model::ReservedContainer::name);
    if (container == containers.end()) {
      container = containers.insert(container, {.name = name});
    }
    std::get<std::vector<model::ReservedDevice>>(container->assigned).push_back(device);
  }
  return holding;
}

std::string verdict_cache_key(const model::PodFacts& pod, const model::StringMap& annotations,
                              const std::string& node) {
  std::string key = pod.uid + "|" + node;
  for (const auto& [name, value] : annotations) {
    if (name.starts_with("gpu-") || name == "snug.dev/reservation") {
      key.append("|").append(name).append("=").append(value);
    }
  }
  return key;
}

}  // namespace

std::string show(const model::Slice& slice) {
  return " " + slice.profile + "@" + std::to_string(slice.start) + "+" +
         std::to_string(slice.size) + " " + slice.uuid;
}

std::string show(const Held& held) {
  std::string text = held.unplaced ? "unplaced" : "";
  for (const auto& [container, device] : held.devices) {
    text += " [" + container + ": " + std::to_string(device.index) + " " + device.uuid + " " +
            std::string(model::to_string(device.mode)) + " " + std::to_string(device.memory.value) +
            "MiB " + std::to_string(device.compute.value) + "m" +
            (device.slice ? show(*device.slice) : "") + "]";
  }
  for (const auto& [resource, count] : held.units) {
    text += " " + resource + "=" + std::to_string(count);
  }
  return text.empty() ? "nothing" : text;
}

std::string NaiveModel::describe(const std::string& node_name) {
  const auto found = world_.nodes().find(node_name);
  if (found == world_.nodes().end()) return node_name + " does not exist";
  const SimNode& node = found->second;
  std::string text = node_name + " (" + node.pool + (node.enforced ? ", enforced" : "") +
                     (node.stale ? ", stale" : "") + ") has";
  for (const model::GpuInfo& gpu : node.gpus) {
    text += " [" + std::to_string(gpu.index) + " " + gpu.uuid + " " + gpu.model + " " +
            std::to_string(gpu.memory.value);
    for (const model::GpuMode mode : gpu.allowed_modes) {
      text.append(" ").append(model::to_string(mode));
    }
    if (gpu.mig_enabled) text += node.dynamic ? " dynamic" : " static";
    for (const model::Slice& slice : gpu.mig_instances) text += show(slice);
    if (const auto failed = node.failed_on(gpu)) text += " failed " + std::to_string(failed);
    text += gpu.healthy ? "]" : " unhealthy]";
  }
  for (const Holder& holder : holders(false)) {
    if (holder.node != node_name) continue;
    text +=
        "; " + holder.uid + " of " + holder.pod->name_space + " holds " + show(holder.held->held);
  }
  for (const auto& [uid, pod] : world_.pods()) {
    if (pod.facts.nominated_node_name == node_name && pod.waits()) text += "; for " + uid;
  }
  return text + "; " + policy_.yaml();
}

void NaiveModel::report(std::string check, std::string text) {
  violations_.push_back({std::move(check), std::move(text)});
}

std::shared_ptr<const PlainHeld> NaiveModel::read(const model::PodFacts& pod,
                                                  const model::StringMap& annotations,
                                                  const std::string& node) {
  std::string key = verdict_cache_key(pod, annotations, node);
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  PlainHeld result{.held = {}, .ask = plain_ask(pod, annotations), .holding = nullptr};
  const auto json = nlohmann::json::parse(reservation_in(annotations), nullptr, false);
  if (json.is_object() && json.value("uid", "") == pod.uid && json.value("node", "") == node) {
    result.held = parse_reservation(json);
  } else if (result.ask.request.is_kubelet_assigned()) {
    result.held.units[kGpuUnits] = result.ask.request.containers.front().count;
  } else {
    result.held.unplaced = !result.ask.nothing();
  }
  result.holding = holding_of(pod, node, result.held, result.ask);
  return memo_.emplace(std::move(key), std::make_shared<const PlainHeld>(std::move(result)))
      .first->second;
}

std::shared_ptr<const PlainHeld> NaiveModel::held_as(const model::PodFacts& pod,
                                                     const std::string& node, const Held& held) {
  PlainHeld result{.held = held, .ask = plain_ask(pod), .holding = nullptr};
  result.holding = holding_of(pod, node, held, result.ask);
  return std::make_shared<const PlainHeld>(std::move(result));
}

std::shared_ptr<const PlainHeld> NaiveModel::read_binding(const model::PodFacts& pod,
                                                          const model::Binding& binding) {
  model::StringMap annotations = pod.annotations;
  for (const auto& [key, value] : binding.annotations) annotations[key] = value;
  return read(pod, annotations, binding.node);
}

const Held& NaiveModel::held(const SimPod& pod) {
  return read(pod.facts, pod.counted, pod.facts.node_name)->held;
}

std::vector<Holder> NaiveModel::holders(bool only_known) {
  std::vector<Holder> result;
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.holds()) continue;
    if (only_known && (pod.apart || (!pod.by_snug && !feed_.told_bound().contains(uid)))) continue;
    auto held = read(pod.facts, pod.counted, pod.facts.node_name);
    if (!held->held.anything()) continue;
    result.push_back(
        {uid, pod.facts.node_name, &pod.facts, std::move(held), pod.facts.terminating});
  }
  // Only one of several bindings of a pod can succeed.
  std::set<std::string> under_way;
  for (const model::Binding& binding : world_.landing()) {
    const SimPod& pod = world_.pods().at(binding.uid);
    if (pod.facts.finished || (only_known && pod.apart)) continue;
    if (!under_way.insert(binding.uid).second) continue;
    auto held = read_binding(pod.facts, binding);
    if (held->held.devices.empty() && held->held.units.empty()) continue;
    result.push_back({binding.uid, binding.node, &pod.facts, std::move(held), false});
  }
  return result;
}

Asker NaiveModel::asker_of(const std::string& name_space, const std::vector<Holder>& all,
                           const std::map<std::string, SimNode>& nodes) const {
  Asker asker{.name_space = name_space,
              .rule_of = [this](std::string_view other) { return policy_.of(other); },
              .held = 0};
  if (!policy_.of(name_space).cap) return asker;
  for (const Holder& holder : all) {
    if (holder.pod->name_space != name_space) continue;
    const auto node = nodes.find(holder.node);
    const std::int64_t replicas = node == nodes.end() ? 0 : node->second.replicas;
    asker.held += FitOracle::held_by(*holder.held->holding, replicas);
  }
  return asker;
}

FitOracle NaiveModel::oracle_of(const SimNode& node, const std::vector<Holder>& all, Asker asker) {
  std::vector<model::HoldingPtr> holdings;
  for (const Holder& holder : all) {
    if (holder.node == node.name) holdings.push_back(holder.held->holding);
  }
  return {inventory_of(node), holdings, std::move(asker)};
}

void NaiveModel::check_truth() {
  check_slices_of_all();
  struct Sum {
    Amounts amounts;
    std::set<std::string> pods;
    std::set<model::GpuMode> modes;
    std::int64_t rounding = 0;  // MiB
  };
  using Gpu = std::pair<std::string, std::string>;
  std::map<Gpu, Sum> sums;
  for (const Holder& holder : holders(false)) {
    if (world_.pods().at(holder.uid).apart) continue;
    std::map<Gpu, std::vector<Part>> parts;
    const model::Holding& holding = *holder.held->holding;
    for (std::size_t c = 0; c < holding.reservation.containers.size(); ++c) {
      const auto* devices = std::get_if<std::vector<model::ReservedDevice>>(
          &holding.reservation.containers[c].assigned);
      if (devices == nullptr) continue;
      const bool fraction =
          c < holding.container_requests.size() &&
          std::holds_alternative<model::FractionRequest>(holding.container_requests[c]->device);
      for (const model::ReservedDevice& device : *devices) {
        const Gpu gpu{holder.node,
                      device.uuid.empty() ? std::to_string(device.index) : device.uuid};
        const bool whole = device.mode == model::GpuMode::kWhole;
        parts[gpu].push_back({holding.container_type(c),
                              c,
                              {device.memory.value, whole ? kWholeMilli : device.compute.value}});
        sums[gpu].rounding += fraction ? 1 : 0;
        sums[gpu].pods.insert(holder.uid);
        sums[gpu].modes.insert(device.mode);
      }
    }
    for (const auto& [gpu, all] : parts) {
      const Amounts amounts = together(all);
      sums[gpu].amounts.memory += amounts.memory;
      sums[gpu].amounts.compute += amounts.compute;
    }
  }
  for (const auto& [gpu, sum] : sums) {
    const bool whole = sum.modes.contains(model::GpuMode::kWhole);
    const std::int64_t capacity = world_.largest(gpu.first, gpu.second);
    if (sum.amounts.memory <= capacity + sum.rounding && sum.amounts.compute <= kWholeMilli &&
        sum.modes.size() == 1 && (!whole || sum.pods.size() == 1)) {
      continue;
    }
    std::string pods;
    for (const std::string& uid : sum.pods) pods += " " + uid;
    report("over-commitment", "GPU " + gpu.second + " of " + gpu.first + " holds " +
                                  std::to_string(sum.amounts.memory) + " of " +
                                  std::to_string(capacity) + " MiB and " +
                                  std::to_string(sum.amounts.compute) + " milli:" + pods);
  }
}

void NaiveModel::check_slices_of_all() {
  std::map<std::pair<std::string, std::string>, SliceUse> uses;
  for (const Holder& holder : holders(false)) {
    if (world_.pods().at(holder.uid).apart) continue;
    std::set<std::tuple<std::string, std::string, int>> own;
    for (const auto& [container, device] : holder.held->held.devices) {
      if (!device.slice) continue;
      const model::Slice& slice = *device.slice;
      if (!own.emplace(device.uuid, slice.profile, slice.start).second) continue;
      const auto card = std::ranges::find_if(
          literal_cards(), [&](const LiteralCard& each) { return each.find(slice) != nullptr; });
      if (card == literal_cards().end()) {
        report("slice", holder.uid + " holds what no card has:" + show(slice));
        continue;
      }
      SliceUse& use = uses[{holder.node, device.uuid}];
      if (!use.room_for(*card, slice)) {
        report("overlap", holder.uid + " holds" + show(slice) + " on " + device.uuid + " of " +
                              holder.node + ", which another has");
      }
      use.add(*card, slice);
    }
  }
}

}  // namespace snug
