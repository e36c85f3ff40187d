#include "sim/harness/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace snug {

std::int64_t SimNode::healthy() const { return std::ranges::count_if(gpus, &SimGpu::healthy); }

namespace {

void label(const SimNode& node, NodeFacts& facts) {
  const auto all = static_cast<std::int64_t>(node.gpus.size());
  facts.labels["nvidia.com/gpu.product"] = node.gpus.front().model;
  facts.labels["nvidia.com/gpu.count"] = std::to_string(all);
  facts.labels["nvidia.com/gpu.memory"] = std::to_string(node.gpus.front().memory);
  if (node.replicas > 1) facts.labels["nvidia.com/gpu.replicas"] = std::to_string(node.replicas);
  facts.capacity[kGpuUnits] = std::to_string(all * node.replicas);
  facts.allocatable[kGpuUnits] = std::to_string(node.units());
}

}  // namespace

NodeFacts to_facts(const SimNode& node) {
  NodeFacts facts;
  facts.name = node.name;
  facts.labels["snug.dev/pool"] = node.pool;
  if (node.enforced) facts.labels["snug.dev/enforced"] = "true";
  facts.host = {.amounts = {.cpu_milli = 64'000, .memory_bytes = std::int64_t{256} << 30},
                .pods = 110,
                .known = true};
  if (node.gpus.empty()) return facts;
  if (node.labels_only) {
    label(node, facts);
    return facts;
  }
  facts.boot_id = "this boot";
  nlohmann::json inventory{{"version", 1},
                           {"bootID", node.stale ? "an earlier boot" : "this boot"},
                           {"gpus", nlohmann::json::array()}};
  for (const SimGpu& gpu : node.gpus) {
    inventory["gpus"].push_back({{"index", gpu.index},
                                 {"uuid", gpu.uuid},
                                 {"model", gpu.model},
                                 {"memoryMiB", gpu.memory},
                                 {"healthy", gpu.healthy},
                                 {"modes", gpu.modes}});
  }
  facts.annotations["snug.dev/inventory"] = inventory.dump();
  return facts;
}

namespace {

nlohmann::json pod_json(const PodFacts& pod) {
  nlohmann::json containers = nlohmann::json::array();
  nlohmann::json inits = nlohmann::json::array();
  for (const ContainerFacts& container : pod.containers) {
    nlohmann::json json{{"name", container.name}};
    if (!container.gpu_resources.empty()) json["resources"]["limits"] = container.gpu_resources;
    json["resources"]["requests"] = {{"cpu", std::to_string(container.host.cpu_milli) + "m"},
                                     {"memory", std::to_string(container.host.memory_bytes)}};
    if (container.kind == ContainerKind::kSidecar) json["restartPolicy"] = "Always";
    (container.kind == ContainerKind::kApp ? containers : inits).push_back(std::move(json));
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

std::string schedule_body(const PodFacts& pod, const std::vector<std::string>& nodes) {
  return nlohmann::json{{"Pod", pod_json(pod)}, {"NodeNames", nodes}}.dump();
}

std::string bind_body(const PodFacts& pod, std::string_view node) {
  return nlohmann::json{
      {"PodName", pod.name}, {"PodNamespace", pod.name_space}, {"PodUID", pod.uid}, {"Node", node}}
      .dump();
}

}  // namespace snug
