#include "sim/harness/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace snug {

std::int64_t SimNode::healthy() const { return std::ranges::count_if(gpus, &SimGpu::healthy); }

std::int64_t SimNode::units() const {
  const auto gives = [](const SimGpu& gpu) { return gpu.healthy && !gpu.mig; };
  return std::ranges::count_if(gpus, gives) * replicas;
}

bool SimNode::has_slices() const { return std::ranges::any_of(gpus, &SimGpu::mig); }

std::uint64_t SimNode::failed_on(const SimGpu& gpu) const {
  std::uint64_t failed = 0;
  const PlainCard* card = card_of(gpu);
  for (const SimFailure& failure : failures) {
    const bool here = failure.gpu == gpu.uuid && card != nullptr && card->legal(failure.slice);
    if (here) failed |= failure.slice.range();
  }
  return failed;
}

namespace {

void label(const SimNode& node, model::NodeFacts& facts) {
  const auto all = static_cast<std::int64_t>(node.gpus.size());
  facts.labels["nvidia.com/gpu.product"] = node.gpus.front().model;
  facts.labels["nvidia.com/gpu.count"] = std::to_string(all);
  facts.labels["nvidia.com/gpu.memory"] = std::to_string(node.gpus.front().memory);
  if (node.replicas > 1) facts.labels["nvidia.com/gpu.replicas"] = std::to_string(node.replicas);
  facts.capacity[kGpuUnits] = std::to_string(all * node.replicas);
  facts.allocatable[kGpuUnits] = std::to_string(node.units());
}

}  // namespace

namespace {

void add_slices(const SimGpu& gpu, nlohmann::json& json) {
  json["mig"] = true;
  for (const PlainSlice& slice : gpu.instances) {
    json["migInstances"].push_back({{"profile", slice.profile},
                                    {"start", slice.start},
                                    {"size", slice.size},
                                    {"uuid", slice.uuid}});
  }
  const PlainCard& card = *card_of(gpu);
  if (!card.published) return;
  for (const PlainProfile& profile : card.profiles) {
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
  for (const SimGpu& gpu : node.gpus) {
    nlohmann::json& json = inventory["gpus"].emplace_back(nlohmann::json{{"index", gpu.index},
                                                                         {"uuid", gpu.uuid},
                                                                         {"model", gpu.model},
                                                                         {"memoryMiB", gpu.memory},
                                                                         {"healthy", gpu.healthy},
                                                                         {"modes", gpu.modes}});
    if (gpu.mig) add_slices(gpu, json);
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
