#include "sim/trace_conversion.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "snug/base/check.hpp"
#include "snug/mig/card_catalog.hpp"
#include "snug/model/pod.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::sim {
namespace {

constexpr std::size_t kDigits = 9;
constexpr std::int64_t kMebi = 1 << 20;

std::string padded(std::size_t number) {
  std::string digits = std::to_string(number);
  digits.insert(0, kDigits - std::min(kDigits, digits.size()), '0');
  return digits;
}

/// The value of `gpu-fraction`: `0.810` for 810 milli-GPU, `2` for two whole GPUs.
std::string fraction_of(const TracePod& pod) {
  if (pod.gpu_milli == 1000) return std::to_string(pod.gpus);
  return "0." + std::to_string(1000 + pod.gpu_milli).substr(1);
}

}  // namespace

std::string node_name_of_rank(std::size_t rank) { return "node-" + padded(rank); }
std::string arrival_uid(std::size_t arrival) { return "pod-" + padded(arrival); }

model::NodeInventory make_inventory(const TraceNode& node, std::size_t rank) {
  model::NodeInventory inventory;
  inventory.name = node_name_of_rank(rank);
  inventory.host = {.resources = host_resources_of(node), .pod_slots = 0, .known = true};
  inventory.dynamic_mig = node.mig_card != nullptr;
  for (int index = 0; index < node.gpus; ++index) {
    model::GpuInfo& gpu = inventory.gpus.emplace_back(
        model::GpuInfo{.index = index,
                       .model = node.model,
                       .memory = {kTraceGpuMiB},
                       .allowed_modes = {model::GpuMode::kWhole, model::GpuMode::kTimeSlicing}});
    if (node.mig_card == nullptr) continue;
    gpu.mig_enabled = true;
    gpu.mig_table = node.mig_card->table;
    gpu.memory = node.mig_card->memory;
  }
  return inventory;
}

model::HostResources host_resources_of(const TraceNode& node) {
  return {node.cpu_milli, node.memory_mib * kMebi};
}
model::HostResources host_resources_of(const TracePod& pod) {
  return {pod.cpu_milli, pod.memory_mib * kMebi};
}

model::StringMap annotations_of(const TracePod& pod) {
  if (!pod.mig_profile.empty()) return {{"gpu-mig-profile", pod.mig_profile}};
  if (pod.gpus == 0) return {};
  return {{"gpu-fraction", fraction_of(pod)}};
}

namespace {

/// Returns the pod's models that the cluster has, each as an exact match (`=MODEL`). If the pod
/// names models and the cluster has none of them, returns an entry that matches no model.
std::vector<std::string> known_models(const TracePod& pod,
                                      const std::set<std::string>& cluster_models) {
  constexpr std::string_view kExactly = "=";
  std::vector<std::string> models;
  for (const std::string& model : pod.models) {
    if (cluster_models.contains(model)) models.push_back(std::string(kExactly) + model);
  }
  if (models.empty() && !pod.models.empty()) models.emplace_back(kExactly);
  return models;
}

}  // namespace

std::vector<model::GpuRequest> requests_of(const Trace& trace) {
  std::vector<model::GpuRequest> requests;
  requests.reserve(trace.pods.size());
  std::set<std::string> cluster_models;
  for (const TraceNode& node : trace.nodes) cluster_models.insert(node.model);
  for (const TracePod& pod : trace.pods) {
    model::PodFacts facts;
    facts.name = pod.name;
    facts.containers.push_back({.name = "main"});
    facts.annotations = annotations_of(pod);
    auto request = request::parse_request(facts);
    SNUG_CHECK(request.has_value());
    for (model::ContainerRequest& container : request->containers) {
      container.models.included = known_models(pod, cluster_models);
      for (const std::string& model : container.models.included)
        container.text += ";gpu-model=" + model;
    }
    requests.push_back(*std::move(request));
  }
  return requests;
}

}  // namespace snug::sim
