#include "snug/agent_codec/inventory_writer.hpp"

#include <nlohmann/json.hpp>

namespace snug::agent_codec {
namespace {

using Json = nlohmann::ordered_json;

Json instances_json(const agent::DeviceReport& gpu) {
  Json list = Json::array();
  for (const agent::MigSliceReport& slice : gpu.mig_slices) {
    list.push_back({{"profile", slice.profile},
                    {"start", slice.start},
                    {"size", slice.size},
                    {"uuid", slice.uuid}});
  }
  return list;
}

Json profiles_json(const agent::DeviceReport& gpu) {
  Json list = Json::array();
  for (const agent::MigProfileReport& profile : gpu.mig_profiles) {
    list.push_back({{"profile", profile.name},
                    {"size", profile.size},
                    {"memoryMiB", profile.memory.value},
                    {"starts", profile.starts}});
  }
  return list;
}

Json modes_json(const agent::InventorySettings& settings) {
  Json modes = Json::array();
  for (const model::GpuMode mode : settings.modes) modes.push_back(model::to_string(mode));
  return modes;
}

Json gpu_json(const agent::DeviceReport& gpu, const agent::Inventory& inventory) {
  const auto failure = inventory.mps_failures.find(gpu.uuid);
  const bool mps_failed = failure != inventory.mps_failures.end();
  Json object{{"index", gpu.index},
              {"uuid", gpu.uuid},
              {"model", gpu.model},
              {"memoryMiB", gpu.memory.value},
              {"healthy", gpu.healthy && !mps_failed}};
  if (gpu.numa_node >= 0) object["numa"] = gpu.numa_node;
  object["modes"] = modes_json(inventory.settings);
  if (mps_failed) object["mps"] = "failed: " + failure->second;
  object["mig"] = gpu.mig_enabled;
  if (!gpu.mig_enabled) return object;
  object["migInstances"] = instances_json(gpu);
  if (!gpu.mig_profiles.empty()) object["migProfiles"] = profiles_json(gpu);
  return object;
}

Json failures_json(const std::vector<agent::SliceFailure>& failures) {
  Json list = Json::array();
  for (const agent::SliceFailure& failure : failures) {
    list.push_back({{"gpu", failure.gpu_uuid},
                    {"profile", failure.profile},
                    {"start", failure.start},
                    {"pod", failure.pod_uid}});
  }
  return list;
}

}  // namespace

std::string write_inventory(const agent::Inventory& inventory) {
  const agent::InventorySettings& settings = inventory.settings;
  Json root{{"version", 1}};
  if (!settings.boot_id.empty()) root["bootID"] = settings.boot_id;
  root["dynamicMig"] = settings.dynamic_mig;
  root["enforcement"] = model::kEnforcementNames[settings.enforcement];
  root["limits"] = model::kShareLimitsNames[settings.limits];
  root["gpus"] = Json::array();
  for (const agent::DeviceReport& gpu : inventory.gpus)
    root["gpus"].push_back(gpu_json(gpu, inventory));
  if (!inventory.links.empty()) root["links"] = inventory.links;
  if (!inventory.mig_failures.empty()) root["migFailures"] = failures_json(inventory.mig_failures);
  return root.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace snug::agent_codec
