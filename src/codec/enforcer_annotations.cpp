#include "snug/codec/enforcer_annotations.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "codec/json_writer.hpp"
#include "snug/request/other_systems.hpp"

namespace snug::codec {
namespace {

constexpr std::string_view kDeviceAllocatedKey = "scheduling.koordinator.sh/device-allocated";

/// What all GPUs of a container have at least.
struct LeastAmounts {
  std::int64_t memory_mib = base::kLargestQuantity;
  std::int64_t percent = 100;  // of the compute; rounded down, but at least 1
};

LeastAmounts least_of(std::span<const model::ReservedDevice> devices) {
  LeastAmounts least;
  for (const model::ReservedDevice& device : devices) {
    least.memory_mib = std::min(least.memory_mib, device.memory.value);
    least.percent = std::min(least.percent, device.compute.value / 10);
  }
  least.percent = std::max<std::int64_t>(1, least.percent);
  return least;
}

std::string mebibytes(std::int64_t amount) { return std::to_string(amount) + "Mi"; }

/// `1`, `0.25`: fractiond rounds it to whole percent, and takes none below 1 %.
std::string portion(std::int64_t percent) {
  return percent >= 100 ? "1" : "0." + std::to_string(100 + percent).substr(1);
}

/// fractiond ignores a container that has no amount of memory, so a whole GPU has one too. Each key
/// is written, so that nothing counts that the pod had there before.
void write_fractions(const model::ReservedContainer& container, model::StringMap& annotations) {
  const LeastAmounts least = least_of(container.devices());
  std::vector<const model::ReservedDevice*> devices;
  for (const model::ReservedDevice& device : container.devices()) devices.push_back(&device);
  std::ranges::sort(devices, {}, &model::ReservedDevice::index);
  std::string uuids;
  for (const model::ReservedDevice* device : devices) {
    if (!uuids.empty()) uuids += ',';
    uuids += device->uuid;
  }
  const bool by_mps = devices.front()->mode == model::GpuMode::kMps;
  const std::string prefix = std::string(request::kKaiContainerPrefix) + container.name;
  annotations[prefix + ".gpus.devices"] = uuids;
  annotations[prefix + ".gpu-memory.request"] = mebibytes(least.memory_mib);
  annotations[prefix + ".gpu-memory.limit"] = mebibytes(least.memory_mib);
  annotations[prefix + ".gpu-compute.mode"] = by_mps ? "sm-sharing" : "time-slicing";
  annotations[prefix + ".gpu-compute.portion"] = portion(least.percent);
}

/// Percent of the GPU's memory. koordlet limits nothing from 100 on, so a share has less.
std::int64_t memory_ratio(const model::ReservedDevice& device, std::int64_t memory_mib,
                          const model::NodeInventory& node) {
  if (device.mode == model::GpuMode::kWhole) return 100;
  const auto gpu = node.find_gpu(device.index, device.uuid);
  const std::int64_t all = gpu ? node.gpus[*gpu].memory.value : 0;
  return all <= 0 ? 99 : std::clamp<std::int64_t>(100 * memory_mib / all, 1, 99);
}

/// The hook of koordlet writes `minor` to NVIDIA_VISIBLE_DEVICES, where NVIDIA's runtime reads
/// indices. It limits all GPUs as the first of them.
std::string device_allocated(const model::Reservation& reservation,
                             const model::NodeInventory& node) {
  std::map<int, std::pair<const model::ReservedDevice*, LeastAmounts>> by_index;
  for (const model::ReservedContainer& container : reservation.containers) {
    const LeastAmounts least = least_of(container.devices());
    for (const model::ReservedDevice& device : container.devices())
      by_index.try_emplace(device.index, &device, least);
  }
  std::string json;
  for (const auto& [index, given] : by_index) {
    const auto& [device, least] = given;
    const std::int64_t memory_mib =
        device->mode == model::GpuMode::kWhole ? device->memory.value : least.memory_mib;
    json += json.empty() ? R"({"gpu":[)" : ",";
    json += R"({"minor":)" + std::to_string(index);
    json += R"(,"resources":{"koordinator.sh/gpu-core":")" + std::to_string(least.percent);
    json += R"(","koordinator.sh/gpu-memory":")" + mebibytes(memory_mib);
    json += R"(","koordinator.sh/gpu-memory-ratio":")" +
            std::to_string(memory_ratio(*device, memory_mib, node)) + R"("})";
    if (!device->uuid.empty()) {
      json += R"(,"id":)";
      append_json_string(json, device->uuid);
    }
    json += '}';
  }
  return json.empty() ? json : json + "]}";
}

bool has_slice(const model::ReservedContainer& container) {
  return std::ranges::any_of(container.devices(), [](const model::ReservedDevice& device) {
    return device.slice.has_value();
  });
}

}  // namespace

void write_enforcer_annotations(const model::Reservation& reservation,
                                const model::NodeInventory& node, model::StringMap& annotations) {
  if (!node.other_enforcer) return;
  // fit reserves no slices there, but the label may have come after the reservation. The enforcer
  // would give the container the slice's whole GPU.
  if (std::ranges::any_of(reservation.containers, has_slice)) return;
  switch (*node.other_enforcer) {
    case model::OtherEnforcer::kNvFractions:
      for (const model::ReservedContainer& container : reservation.containers)
        if (!container.devices().empty()) write_fractions(container, annotations);
      return;
    case model::OtherEnforcer::kKoordlet: {
      std::string devices = device_allocated(reservation, node);
      if (!devices.empty()) annotations[std::string(kDeviceAllocatedKey)] = std::move(devices);
      return;
    }
  }
}

}  // namespace snug::codec
