#include "sim/harness/naive_model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace snug {
namespace {

constexpr std::int64_t kNoNaiveCap = std::int64_t{1} << 60;

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
      Device& seen = held.devices.emplace_back(
          Device{container.at("name").get<std::string>(), device.at("index").get<int>(),
                 device.value("uuid", ""), device.at("mode").get<std::string>(),
                 device.at("memoryMiB").get<std::int64_t>(),
                 device.at("computeMilli").get<std::int64_t>()});
      if (const auto slice = device.find("mig"); slice != device.end()) {
        seen.slice = {slice->at("profile").get<std::string>(), slice->at("start").get<int>(),
                      slice->at("size").get<int>(), slice->value("uuid", "")};
      }
    }
  }
  std::ranges::sort(held.devices);
  return held;
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

std::string show(const PlainSlice& slice) {
  if (slice.profile.empty()) return "";
  return " " + slice.profile + "@" + std::to_string(slice.start) + "+" +
         std::to_string(slice.size) + " " + slice.uuid;
}

std::string show(const Held& held) {
  std::string text = held.unplaced ? "unplaced" : "";
  for (const Device& device : held.devices) {
    text += " [" + device.container + ": " + std::to_string(device.index) + " " + device.uuid +
            " " + device.mode + " " + std::to_string(device.memory) + "MiB " +
            std::to_string(device.compute) + "m" + show(device.slice) + "]";
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
  for (const SimGpu& gpu : node.gpus) {
    text += " [" + std::to_string(gpu.index) + " " + gpu.uuid + " " + gpu.model + " " +
            std::to_string(gpu.memory);
    for (const std::string& mode : gpu.modes) text += " " + mode;
    if (gpu.mig) text += node.dynamic ? " dynamic" : " static";
    for (const PlainSlice& slice : gpu.instances) text += show(slice);
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
  PlainHeld result{.held = {}, .ask = plain_ask(pod, annotations)};
  const auto json = nlohmann::json::parse(reservation_in(annotations), nullptr, false);
  if (json.is_object() && json.value("uid", "") == pod.uid && json.value("node", "") == node) {
    result.held = parse_reservation(json);
  } else if (result.ask.units > 0) {
    result.held.units[kGpuUnits] = result.ask.units;
  } else {
    result.held.unplaced = !result.ask.nothing();
  }
  return memo_.emplace(std::move(key), std::make_shared<const PlainHeld>(std::move(result)))
      .first->second;
}

std::shared_ptr<const PlainHeld> NaiveModel::read_binding(const model::PodFacts& pod,
                                                          const service::Binding& binding) {
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
  for (const service::Binding& binding : world_.landing()) {
    const SimPod& pod = world_.pods().at(binding.uid);
    if (pod.facts.finished || (only_known && pod.apart)) continue;
    if (!under_way.insert(binding.uid).second) continue;
    auto held = read_binding(pod.facts, binding);
    if (held->held.devices.empty() && held->held.units.empty()) continue;
    result.push_back({binding.uid, binding.node, &pod.facts, std::move(held), false});
  }
  return result;
}

std::int64_t NaiveModel::cap_left(const std::string& name_space, const std::vector<Holder>& all,
                                  const std::map<std::string, SimNode>& nodes) const {
  const std::int64_t cap = policy_.of(name_space).cap;
  if (cap < 0) return kNoNaiveCap;
  std::int64_t held = 0;
  for (const Holder& holder : all) {
    if (holder.pod->name_space == name_space) held += compute_of(holder, nodes);
  }
  return cap - held;
}

void NaiveModel::check_truth() {
  check_slices_of_all();
  struct Sum {
    Amounts amounts;
    std::set<std::string> pods;
    std::set<std::string> modes;
    std::int64_t rounding = 0;  // MiB
  };
  using Gpu = std::pair<std::string, std::string>;
  std::map<Gpu, Sum> sums;
  for (const Holder& holder : holders(false)) {
    if (world_.pods().at(holder.uid).apart) continue;
    std::map<Gpu, std::vector<Part>> parts;
    for (const Device& device : holder.held->held.devices) {
      const Gpu gpu{holder.node, device.uuid.empty() ? std::to_string(device.index) : device.uuid};
      const PlainContainer* ask = holder.held->ask.find(device.container);
      Part part;
      if (ask != nullptr) part = {ask->runs, ask->position, {}};
      part.amounts = {device.memory, device.mode == "whole" ? kWholeMilli : device.compute};
      parts[gpu].push_back(part);
      const bool fraction = ask != nullptr && ask->kind == PlainContainer::Kind::kFraction;
      sums[gpu].rounding += fraction ? 1 : 0;
      sums[gpu].pods.insert(holder.uid);
      sums[gpu].modes.insert(device.mode);
    }
    for (const auto& [gpu, all] : parts) {
      const Amounts amounts = together(all);
      sums[gpu].amounts.memory += amounts.memory;
      sums[gpu].amounts.compute += amounts.compute;
    }
  }
  for (const auto& [gpu, sum] : sums) {
    const bool whole = sum.modes.contains("whole");
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
    for (const Device& device : holder.held->held.devices) {
      const PlainSlice& slice = device.slice;
      if (slice.profile.empty() || !own.emplace(device.uuid, slice.profile, slice.start).second) {
        continue;
      }
      const PlainCard* card = card_with(slice.profile);
      if (card == nullptr || !card->legal(slice)) {
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
