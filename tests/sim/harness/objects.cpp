#include "sim/harness/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace snug {

std::int64_t SimNode::healthy() const {
  return std::ranges::count_if(gpus, &model::GpuInfo::healthy);
}

std::int64_t SimNode::units() const {
  const auto gives = [](const model::GpuInfo& gpu) { return gpu.healthy && !gpu.mig_enabled; };
  return std::ranges::count_if(gpus, gives) * replicas;
}

bool SimNode::has_slices() const { return std::ranges::any_of(gpus, &model::GpuInfo::mig_enabled); }

model::AxisMask SimNode::failed_on(const model::GpuInfo& gpu) const {
  model::AxisMask failed = 0;
  const LiteralCard* card = card_of(gpu);
  for (const SimFailure& failure : failures) {
    const auto& slice = failure.slice;
    const bool here = failure.gpu == gpu.uuid && card != nullptr && card->find(slice) != nullptr;
    if (here) failed |= model::axis_range(slice.start, slice.size);
  }
  return failed;
}

namespace {

void label(const SimNode& node, model::NodeFacts& facts) {
  const auto all = static_cast<std::int64_t>(node.gpus.size());
  facts.labels["nvidia.com/gpu.product"] = node.gpus.front().model;
  facts.labels["nvidia.com/gpu.count"] = std::to_string(all);
  facts.labels["nvidia.com/gpu.memory"] = std::to_string(node.gpus.front().memory.value);
  if (node.replicas > 1) facts.labels["nvidia.com/gpu.replicas"] = std::to_string(node.replicas);
  facts.capacity[kGpuUnits] = std::to_string(all * node.replicas);
  facts.allocatable[kGpuUnits] = std::to_string(node.units());
}

}  // namespace

namespace {

void add_slices(const model::GpuInfo& gpu, nlohmann::json& json) {
  json["mig"] = true;
  for (const model::Slice& slice : gpu.mig_instances) {
    json["migInstances"].push_back({{"profile", slice.profile},
                                    {"start", slice.start},
                                    {"size", slice.size},
                                    {"uuid", slice.uuid}});
  }
  const LiteralCard& card = *card_of(gpu);
  if (!card.published) return;
  for (const LiteralProfile& profile : card.profiles) {
    json["migProfiles"].push_back({{"profile", profile.name},
                                   {"size", profile.size},
                                   {"memoryMiB", profile.memory},
                                   {"starts", profile.starts}});
  }
}

nlohmann::json inventory_json(const SimNode& node) {
  nlohmann::json inventory{{"version", 1},
                           {"bootID", node.stale ? "an earlier boot" : "this boot"},
                           {"gpus", nlohmann::json::array()}};
  if (node.has_slices()) inventory["dynamicMig"] = node.dynamic;
  for (const model::GpuInfo& gpu : node.gpus) {
    nlohmann::json modes = nlohmann::json::array();
    for (const model::GpuMode mode : gpu.allowed_modes) modes.push_back(model::to_string(mode));
    nlohmann::json& json =
        inventory["gpus"].emplace_back(nlohmann::json{{"index", gpu.index},
                                                      {"uuid", gpu.uuid},
                                                      {"model", gpu.model},
                                                      {"memoryMiB", gpu.memory.value},
                                                      {"healthy", gpu.healthy},
                                                      {"modes", modes}});
    if (gpu.mig_enabled) add_slices(gpu, json);
  }
  for (const SimFailure& failure : node.failures) {
    inventory["migFailures"].push_back({{"gpu", failure.gpu},
                                        {"profile", failure.slice.profile},
                                        {"start", failure.slice.start},
                                        {"pod", failure.pod}});
  }
  return inventory;
}

}  // namespace

model::NodeFacts to_facts(const SimNode& node) {
  model::NodeFacts facts;
  facts.name = node.name;
  facts.labels["snug.dev/pool"] = node.pool;
  if (node.enforced) facts.labels["snug.dev/enforced"] = "true";
  facts.host = {.resources = {.cpu_milli = 64'000, .memory_bytes = std::int64_t{256} << 30},
                .pod_slots = 110,
                .known = true};
  if (node.gpus.empty()) return facts;
  if (node.labels_only) {
    label(node, facts);
    return facts;
  }
  facts.boot_id = "this boot";
  facts.annotations["snug.dev/inventory"] = inventory_json(node).dump();
  return facts;
}

model::NodeInventory inventory_of(const SimNode& node) {
  using enum model::ReasonCode;
  model::NodeInventory inventory{.name = node.name,
                                 .gpus = node.gpus,
                                 .dynamic_mig = node.dynamic,
                                 .enforces_shares = node.enforced,
                                 .replicas = node.replicas};
  for (const model::Pool pool : {model::Pool::kShares, model::Pool::kWhole}) {
    if (model::to_string(pool) == node.pool) inventory.pool = pool;
  }
  for (model::GpuInfo& gpu : inventory.gpus) gpu.failed_memory_slices = node.failed_on(gpu);
  inventory.kubelet_allocatable[kGpuUnits] = node.units();
  if (node.gpus.empty() || node.stale) inventory.closed_to_all = kBadInventory;
  // Its labels do not say which GPU is ill, and one that is offered several times is the kubelet's.
  const bool ill = node.labels_only && node.healthy() < std::ssize(node.gpus);
  const bool replicas = node.replicas > 1 && node.pool != "shares";
  if (ill || replicas) inventory.closed_to_annotated = ill ? kUnhealthy : kWrongPool;
  return inventory;
}

namespace {

nlohmann::json pod_json(const model::PodFacts& pod) {
  nlohmann::json containers = nlohmann::json::array();
  nlohmann::json inits = nlohmann::json::array();
  for (const model::ContainerFacts& container : pod.containers) {
    nlohmann::json json{{"name", container.name}};
    if (!container.gpu_resources.empty()) json["resources"]["limits"] = container.gpu_resources;
    json["resources"]["requests"] = {{"cpu", std::to_string(container.host.cpu_milli) + "m"},
                                     {"memory", std::to_string(container.host.memory_bytes)}};
    if (container.type == model::ContainerType::kSidecar) json["restartPolicy"] = "Always";
    (container.type == model::ContainerType::kApp ? containers : inits).push_back(std::move(json));
  }
  nlohmann::json metadata{{"name", pod.name},
                          {"namespace", pod.name_space},
                          {"uid", pod.uid},
                          {"annotations", pod.annotations}};
  if (!pod.creation_timestamp.empty()) metadata["creationTimestamp"] = pod.creation_timestamp;
  nlohmann::json json{{"metadata", std::move(metadata)},
                      {"spec",
                       {{"schedulerName", pod.scheduler_name},
                        {"priority", pod.priority},
                        {"initContainers", std::move(inits)},
                        {"containers", std::move(containers)}}}};
  if (!pod.nominated_node_name.empty()) {
    json["status"]["nominatedNodeName"] = pod.nominated_node_name;
  }
  return json;
}

}  // namespace

std::string schedule_body(const model::PodFacts& pod, const std::vector<std::string>& nodes) {
  return nlohmann::json{{"Pod", pod_json(pod)}, {"NodeNames", nodes}}.dump();
}

std::string bind_body(const model::PodFacts& pod, std::string_view node) {
  return nlohmann::json{
      {"PodName", pod.name}, {"PodNamespace", pod.name_space}, {"PodUID", pod.uid}, {"Node", node}}
      .dump();
}

}  // namespace snug
