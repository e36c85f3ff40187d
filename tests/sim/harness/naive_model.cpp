#include "sim/harness/naive_model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace snug {
namespace {

constexpr std::int64_t kWhole = 1000;

std::string annotation(const StringMap& annotations, const char* key) {
  const auto found = annotations.find(key);
  return found == annotations.end() ? std::string() : found->second;
}

std::int64_t units_asked(const PodFacts& pod) {
  std::int64_t units = 0;
  for (const ContainerFacts& container : pod.containers) {
    for (const auto& [resource, value] : container.gpu_resources) units += std::stoll(value);
  }
  return units;
}

PlainAsk ask_of(const PodFacts& pod, const StringMap& annotations) {
  using Kind = PlainAsk::Kind;
  const std::string fraction = annotation(annotations, "gpu-fraction");
  const std::string memory = annotation(annotations, "gpu-memory");
  if (!memory.empty()) {
    const bool binary = memory.ends_with("Gi");
    return {Kind::kMemory, std::stoll(memory) * (binary ? 1024 : 1)};
  }
  if (fraction == "1.5" || fraction == "4000m") return {Kind::kMalformed, 0};
  if (fraction.starts_with("0.")) {
    return {Kind::kFraction, std::stoll((fraction.substr(2) + "000").substr(0, 3))};
  }
  if (!fraction.empty()) return {Kind::kWhole, std::stoll(fraction)};
  const std::int64_t units = units_asked(pod);
  return units > 0 ? PlainAsk{Kind::kKubelet, units} : PlainAsk{};
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
      held.devices.push_back({device.at("index").get<int>(), device.value("uuid", ""),
                              device.at("mode").get<std::string>(),
                              device.at("memoryMiB").get<std::int64_t>(),
                              device.at("computeMilli").get<std::int64_t>()});
    }
  }
  std::sort(held.devices.begin(), held.devices.end());
  return held;
}

std::int64_t share_memory(const PlainAsk& ask, std::int64_t capacity) {
  if (ask.kind == PlainAsk::Kind::kMemory) return ask.amount;
  return std::max<std::int64_t>(1, ask.amount * capacity / 1000);
}

std::int64_t share_compute(const PlainAsk& ask, std::int64_t capacity) {
  if (ask.kind == PlainAsk::Kind::kFraction) return ask.amount;
  return std::max<std::int64_t>(1, 1000 * ask.amount / capacity);
}

bool allows(const SimGpu& gpu, const std::string& mode) {
  return std::find(gpu.modes.begin(), gpu.modes.end(), mode) != gpu.modes.end();
}

bool is(const Device& device, const SimGpu& gpu) {
  return gpu.uuid.empty() ? device.index == gpu.index : device.uuid == gpu.uuid;
}

std::int64_t healthy_gpus(const SimNode& node) {
  return std::count_if(node.gpus.begin(), node.gpus.end(),
                       [](const SimGpu& gpu) { return gpu.healthy; });
}

bool open_to_annotated(const SimNode& node) {
  const auto all = static_cast<std::int64_t>(node.gpus.size());
  return node.pool != "whole" && !(node.labels_only && healthy_gpus(node) < all);
}

}  // namespace

std::string show(const Held& held) {
  std::string text = held.unplaced ? "unplaced" : "";
  for (const Device& device : held.devices) {
    text += " [" + std::to_string(device.index) + " " + device.uuid + " " + device.mode + " " +
            std::to_string(device.memory) + "MiB " + std::to_string(device.compute) + "m]";
  }
  for (const auto& [resource, count] : held.units) {
    text += " " + resource + "=" + std::to_string(count);
  }
  return text.empty() ? "nothing" : text;
}

PlainAsk plain_ask(const PodFacts& pod) { return ask_of(pod, pod.annotations); }

std::string NaiveModel::describe(const std::string& node_name) {
  const auto found = world_.nodes().find(node_name);
  if (found == world_.nodes().end()) return node_name + " does not exist";
  std::string text = node_name + " (" + found->second.pool + ") has";
  for (const SimGpu& gpu : found->second.gpus) {
    text +=
        " [" + std::to_string(gpu.index) + " " + gpu.uuid + (gpu.healthy ? "" : " unhealthy") + "]";
  }
  for (const Holder& holder : holders(false)) {
    if (holder.node == node_name) text += "; " + holder.uid + " holds " + show(*holder.held);
  }
  return text;
}

void NaiveModel::report(std::string check, std::string text) {
  violations_.push_back({std::move(check), std::move(text)});
}

std::shared_ptr<const Held> NaiveModel::read(const PodFacts& pod, const StringMap& annotations,
                                             const std::string& node) {
  const std::string text = annotation(annotations, "snug.dev/reservation");
  const PlainAsk ask = ask_of(pod, annotations);
  std::string key = text + "|" + pod.uid + "|" + node + "|" +
                    std::to_string(static_cast<int>(ask.kind)) + "|" + std::to_string(ask.amount);
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  Held held;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_object() && json.value("uid", "") == pod.uid && json.value("node", "") == node) {
    held = parse_reservation(json);
  } else if (ask.kind == PlainAsk::Kind::kKubelet) {
    held.units[kGpuUnits] = ask.amount;
  } else {
    held.unplaced = ask.kind != PlainAsk::Kind::kNothing;
  }
  return memo_.emplace(std::move(key), std::make_shared<const Held>(std::move(held))).first->second;
}

const Held& NaiveModel::held(const SimPod& pod) {
  return *read(pod.facts, pod.counted, pod.facts.node_name);
}

std::vector<NaiveModel::Holder> NaiveModel::holders(bool only_known) {
  std::vector<Holder> result;
  for (const auto& [uid, pod] : world_.pods()) {
    if (!pod.holds()) continue;
    if (only_known && !pod.by_snug && !feed_.told_bound().contains(uid)) continue;
    auto held = read(pod.facts, pod.counted, pod.facts.node_name);
    if (held->anything()) result.push_back({uid, pod.facts.node_name, std::move(held)});
  }
  // Of several bindings of one pod only one can be carried out.
  std::set<std::string> under_way;
  for (const Binding& binding : world_.landing()) {
    const SimPod& pod = world_.pods().at(binding.uid);
    if (pod.facts.finished || !under_way.insert(binding.uid).second) continue;
    auto held = read(pod.facts, binding.annotations, binding.node);
    if (!held->devices.empty() || !held->units.empty()) {
      result.push_back({binding.uid, binding.node, std::move(held)});
    }
  }
  return result;
}

void NaiveModel::check_truth() { check_gpu_sums(holders(false)); }

void NaiveModel::check_gpu_sums(const std::vector<Holder>& all) {
  struct Sum {
    std::int64_t memory = 0;
    std::int64_t compute = 0;
    std::set<std::string> pods;
    std::set<std::string> modes;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const Holder& holder : all) {
    for (const Device& device : holder.held->devices) {
      const std::string gpu = device.uuid.empty() ? std::to_string(device.index) : device.uuid;
      Sum& sum = sums[{holder.node, gpu}];
      sum.memory += device.memory;
      sum.compute += device.compute;
      sum.pods.insert(holder.uid);
      sum.modes.insert(device.mode);
    }
  }
  for (const auto& [gpu, sum] : sums) {
    const bool whole = sum.modes.contains("whole");
    const std::int64_t capacity = sim_gpu_memory(gpu.first);
    if (sum.memory <= capacity && sum.compute <= kWhole && sum.modes.size() == 1 &&
        (!whole || sum.pods.size() == 1)) {
      continue;
    }
    std::string pods;
    for (const std::string& uid : sum.pods) pods += " " + uid;
    report("over-commitment", "GPU " + gpu.second + " of " + gpu.first + " holds " +
                                  std::to_string(sum.memory) + " of " + std::to_string(capacity) +
                                  " MiB and " + std::to_string(sum.compute) + " milli:" + pods);
  }
}

void NaiveModel::check_device(const PlainAsk& ask, const Device& device, const SimNode& node) {
  const auto gpu = std::find_if(node.gpus.begin(), node.gpus.end(),
                                [&](const SimGpu& g) { return is(device, g); });
  const std::string where = node.name + "/" + std::to_string(device.index);
  if (gpu == node.gpus.end() || !gpu->healthy) {
    report("decision", where + " does not exist or is unhealthy");
    return;
  }
  const bool whole = ask.kind == PlainAsk::Kind::kWhole;
  if (!allows(*gpu, device.mode) || (device.mode == "whole") != whole) {
    report("decision", where + " may not be used as " + device.mode);
  }
  const std::int64_t memory = whole ? gpu->memory : share_memory(ask, gpu->memory);
  const std::int64_t compute = whole ? kWhole : share_compute(ask, gpu->memory);
  if (device.memory != memory || device.compute != compute) {
    report("decision", where + " is charged with " + std::to_string(device.memory) + " MiB, " +
                           std::to_string(device.compute) + " milli for " +
                           std::to_string(ask.amount));
  }
}

void NaiveModel::check_shape(const PodFacts& pod, const Held& held, const SimNode& node) {
  const PlainAsk ask = plain_ask(pod);
  if (ask.kind == PlainAsk::Kind::kKubelet) {
    if (!held.devices.empty() ||
        held.units != std::map<std::string, std::int64_t>{{kGpuUnits, ask.amount}}) {
      report("decision", pod.uid + " asks for units and is given " + show(held));
    }
    return;
  }
  if (!ask.by_annotation()) {
    if (held.anything()) report("decision", pod.uid + " asks for nothing valid: " + show(held));
    return;
  }
  const std::int64_t count = ask.kind == PlainAsk::Kind::kWhole ? ask.amount : 1;
  std::set<int> different;
  for (const Device& device : held.devices) {
    different.insert(device.index);
    check_device(ask, device, node);
  }
  if (static_cast<std::int64_t>(held.devices.size()) != count ||
      static_cast<std::int64_t>(different.size()) != count || !held.units.empty()) {
    report("decision", pod.uid + " asks for " + std::to_string(count) + " GPUs: " + show(held));
  }
}

/// Pods whose devices Snug chooses and pods whose devices the kubelet chooses never meet by a
/// decision of Snug's, and units never run out.
void NaiveModel::check_kinds(const Binding& binding, const Held& held, const SimNode& node) {
  const bool by_kubelet = !held.units.empty();
  if (by_kubelet ? node.pool == "shares" : !open_to_annotated(node)) {
    report("decision", node.name + " does not take the kind of " + binding.uid);
  }
  std::int64_t units = by_kubelet ? held.units.at(kGpuUnits) : 0;
  for (const Holder& other : holders(true)) {
    if (other.node != binding.node || other.uid == binding.uid) continue;
    if (other.held->unplaced || by_kubelet != !other.held->units.empty()) {
      report("decision", binding.uid + " on " + node.name + " meets " + other.uid +
                             " of the other kind: " + show(*other.held));
    }
    if (by_kubelet && !other.held->units.empty()) units += other.held->units.at(kGpuUnits);
  }
  if (by_kubelet && units > healthy_gpus(node)) {
    report("over-commitment", node.name + " has fewer than " + std::to_string(units) + " units");
  }
}

void NaiveModel::check_decision(const Binding& binding) {
  const auto found = world_.pods().find(binding.uid);
  if (found == world_.pods().end()) return;  // gone meanwhile: it cannot be carried out
  const PodFacts& pod = found->second.facts;
  const std::string text = annotation(binding.annotations, "snug.dev/reservation");
  if (plain_ask(pod).kind == PlainAsk::Kind::kNothing) {
    if (!text.empty()) report("decision", pod.uid + " asks for no GPU and gets " + text);
    return;
  }
  // A repeated try of an unknown outcome keeps its devices, whatever has happened to them.
  if (!decided_.emplace(binding.uid, text).second) return;
  const auto held = read(pod, binding.annotations, binding.node);
  const auto node = feed_.told_nodes().find(binding.node);
  if (node == feed_.told_nodes().end()) {
    report("decision", pod.uid + " is bound to the unknown node " + binding.node);
    return;
  }
  check_shape(pod, *held, node->second);
  check_kinds(binding, *held, node->second);
  std::vector<Holder> all = holders(true);
  std::erase_if(all, [&](const Holder& other) { return other.uid == binding.uid; });
  all.push_back({binding.uid, binding.node, held});
  check_gpu_sums(all);
}

namespace {

/// Where a held device counts: by its uuid; where that is gone, by its index; else by itself.
std::vector<Observed::Gpu>::iterator charged(std::vector<Observed::Gpu>& gpus,
                                             const Device& device) {
  const auto find = [&](const auto& same) { return std::find_if(gpus.begin(), gpus.end(), same); };
  auto gpu = find([&](const Observed::Gpu& g) {
    return !g.vanished && !device.uuid.empty() && g.uuid == device.uuid;
  });
  if (gpu != gpus.end()) return gpu;
  gpu = find([&](const Observed::Gpu& g) { return !g.vanished && g.index == device.index; });
  if (gpu != gpus.end()) return gpu;
  return find([&](const Observed::Gpu& g) {
    return g.vanished && g.index == device.index && g.uuid == device.uuid;
  });
}

}  // namespace

std::map<std::string, Observed::Node> NaiveModel::beyond(const Observed& seen,
                                                         const std::vector<Holder>& all) {
  std::map<std::string, Observed::Node> rest = seen.nodes;
  for (const Holder& holder : all) {
    const auto node = rest.find(holder.node);
    if (node == rest.end()) continue;
    std::vector<Observed::Gpu>& gpus = node->second.gpus;
    for (const Device& device : holder.held->devices) {
      const auto gpu = charged(gpus, device);
      if (gpu == gpus.end()) {
        report("freed",
               holder.uid + " holds a GPU that the snapshot does not show: " + show(*holder.held));
        continue;
      }
      gpu->used_memory -= device.memory;
      gpu->used_compute -= device.compute;
    }
    for (const auto& [resource, count] : holder.held->units) node->second.units[resource] -= count;
  }
  return rest;
}

void NaiveModel::check_ledger(const Observed& seen) {
  if (!seen.ready) return;
  const std::vector<Holder> all = holders(true);
  for (const Holder& holder : all) {
    const auto found = seen.pods.find(holder.uid);
    if (found == seen.pods.end()) {
      report("freed", holder.uid + " lives and its GPUs are free: " + show(*holder.held));
    } else if (found->second.held != *holder.held || found->second.node != holder.node) {
      report("freed", holder.uid + " holds " + show(*holder.held) + " on " + holder.node +
                          " and the ledger says " + show(found->second.held) + " on " +
                          found->second.node);
    }
  }
  for (const auto& [name, node] : beyond(seen, all)) {
    for (const Observed::Gpu& gpu : node.gpus) {
      if (gpu.used_memory >= 0 && gpu.used_compute >= 0) continue;
      report("freed", "the snapshot counts less on " + name + "/" + std::to_string(gpu.index) +
                          " than its pods hold");
    }
    for (const auto& [resource, count] : node.units) {
      if (count < 0) report("freed", "the snapshot counts too few " + resource + " on " + name);
    }
  }
}

}  // namespace snug
