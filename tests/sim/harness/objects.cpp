#include "sim/harness/objects.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace snug {

std::int64_t sim_gpu_memory(std::string_view node) {
  if (node == "n1") return 81'920;
  return node == "n2" ? 16'384 : 40'960;
}

NodeFacts to_facts(const SimNode& node) {
  NodeFacts facts;
  facts.name = node.name;
  facts.labels["snug.dev/pool"] = node.pool;
  if (node.labels_only) {
    const auto healthy = std::ranges::count_if(node.gpus, &SimGpu::healthy);
    facts.labels["nvidia.com/gpu.product"] = "Tesla-T4";
    facts.labels["nvidia.com/gpu.count"] = std::to_string(node.gpus.size());
    facts.labels["nvidia.com/gpu.memory"] = std::to_string(node.gpus.front().memory);
    facts.capacity[kGpuUnits] = std::to_string(node.gpus.size());
    facts.allocatable[kGpuUnits] = std::to_string(healthy);
    return facts;
  }
  nlohmann::json inventory{{"version", 1}, {"gpus", nlohmann::json::array()}};
  for (const SimGpu& gpu : node.gpus) {
    inventory["gpus"].push_back({{"index", gpu.index},
                                 {"uuid", gpu.uuid},
                                 {"model", "NVIDIA-A100-SXM4-40GB"},
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
  for (const ContainerFacts& container : pod.containers) {
    nlohmann::json json{{"name", container.name}};
    if (!container.gpu_resources.empty()) json["resources"]["limits"] = container.gpu_resources;
    containers.push_back(std::move(json));
  }
  return {{"metadata",
           {{"name", pod.name},
            {"namespace", pod.name_space},
            {"uid", pod.uid},
            {"annotations", pod.annotations}}},
          {"spec", {{"schedulerName", pod.scheduler_name}, {"containers", containers}}}};
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
