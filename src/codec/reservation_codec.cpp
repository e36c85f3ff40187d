#include "snug/codec/reservation_codec.hpp"

#include <algorithm>
#include <utility>

#include "codec/reservation_json.hpp"

namespace snug {
namespace {

using Json = nlohmann::ordered_json;
using Devices = std::vector<ReservedDevice>;

constexpr std::string_view kPrefix = "snug.dev/";
constexpr std::string_view kVisibleDevices = "snug.dev/visible-devices";
constexpr std::string_view kMemoryLimit = "snug.dev/memory-limit";
constexpr std::string_view kComputePercent = "snug.dev/compute-percent";

Json to_json(const ReservedDevice& device) {
  Json json;
  json["index"] = device.index;
  if (!device.uuid.empty()) json["uuid"] = device.uuid;
  json["mode"] = to_string(device.mode);
  json["memoryMiB"] = device.memory.value;
  json["computeMilli"] = device.compute.value;
  if (device.slice) {
    Json& mig = json["mig"];
    mig["profile"] = device.slice->profile;
    mig["start"] = device.slice->start;
    mig["size"] = device.slice->size;
    if (!device.slice->uuid.empty()) mig["uuid"] = device.slice->uuid;
  }
  return json;
}

Json to_json(const ReservedContainer& container) {
  Json json;
  json["name"] = container.name;
  json["request"] = container.request;
  if (const auto* units = std::get_if<KubeletUnits>(&container.given)) {
    json["assignedBy"] = "kubelet";
    json["resource"] = units->resource;
    json["count"] = units->count;
    return json;
  }
  Json& devices = json["devices"] = Json::array();
  for (const ReservedDevice& device : std::get<Devices>(container.given)) {
    devices.push_back(to_json(device));
  }
  return json;
}

/// The three flat values of one container. The runtime numbers a container's devices by their
/// position on the node, whatever order they are named in.
struct Flat {
  std::string visible_devices;
  std::string memory_limit;
  std::string compute_percent;
};

std::string device_name(const ReservedDevice& device, bool all_have_uuids) {
  if (device.slice) return device.slice->uuid;
  return all_have_uuids ? device.uuid : std::to_string(device.index);
}

Flat flatten(Devices devices) {
  std::ranges::sort(devices, {}, [](const ReservedDevice& device) {
    return std::pair(device.index, device.slice ? device.slice->start : 0);
  });
  const bool all_have_uuids =
      std::ranges::none_of(devices, [](const auto& d) { return !d.slice && d.uuid.empty(); });
  const bool to_be_created =
      std::ranges::any_of(devices, [](const auto& d) { return d.slice && d.slice->uuid.empty(); });
  Flat flat;
  std::int64_t least_compute = kWholeGpu.value;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const ReservedDevice& device = devices[i];
    const char* comma = i == 0 ? "" : ",";
    flat.visible_devices += comma + device_name(device, all_have_uuids);
    flat.memory_limit +=
        comma + std::to_string(i) + "=" + std::to_string(device.memory.value) + "M";
    least_compute = std::min(least_compute, device.compute.value);
  }
  if (to_be_created) flat.visible_devices = "void";
  flat.compute_percent = std::to_string(std::max<std::int64_t>(1, least_compute / 10));
  return flat;
}

void put(StringMap& annotations, const std::string& suffix, const Flat& flat) {
  annotations[std::string(kVisibleDevices) + suffix] = flat.visible_devices;
  annotations[std::string(kMemoryLimit) + suffix] = flat.memory_limit;
  annotations[std::string(kComputePercent) + suffix] = flat.compute_percent;
}

}  // namespace

Json reservation_json(const Reservation& reservation) {
  Json json;
  json["version"] = 1;
  json["uid"] = reservation.uid;
  json["node"] = reservation.node;
  Json& containers = json["containers"] = Json::array();
  for (const ReservedContainer& container : reservation.containers) {
    containers.push_back(to_json(container));
  }
  return json;
}

StringMap blank_annotations(const PodFacts& pod) {
  StringMap annotations;
  for (const auto& [key, value] : pod.annotations) {
    if (key.starts_with(kPrefix)) annotations.emplace(key, "");
  }
  return annotations;
}

StringMap write_reservation(const Reservation& reservation, std::string_view main_container,
                            const PodFacts& pod) {
  StringMap annotations = blank_annotations(pod);
  annotations[std::string(kReservationKey)] =
      reservation_json(reservation).dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const ReservedContainer& container : reservation.containers) {
    const auto* devices = std::get_if<Devices>(&container.given);
    if (devices == nullptr || devices->empty()) continue;
    const Flat flat = flatten(*devices);
    put(annotations, "." + container.name, flat);
    if (container.name == main_container) put(annotations, "", flat);
  }
  return annotations;
}

}  // namespace snug
