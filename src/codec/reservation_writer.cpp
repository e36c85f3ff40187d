#include <algorithm>
#include <span>
#include <utility>

#include "codec/json_writer.hpp"
#include "snug/admission/pod_defaults.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/model/required_plugins.hpp"
#include "snug/request/pod_request_parser.hpp"
#include "snug/request/quantity.hpp"

namespace snug::codec {
namespace {

using Devices = std::vector<model::ReservedDevice>;

constexpr std::string_view kPrefix = "snug.dev/";
constexpr std::string_view kAgent = R"(["snug"])";
/// The API server takes a longer key in a binding, and then refuses all updates of the pod, even
/// those of the kubelet. The name of a container with limits of nvidia.com/* may be that long.
constexpr std::size_t kLongestRequiredName = 63 - std::string_view("container.").size();

std::string requirement_key(std::string_view container) {
  if (container.size() > kLongestRequiredName) return std::string(model::kRequiredPluginsOfPod);
  return std::string(model::kRequiredPluginsOfContainer).append(container);
}

/// Whether the kubelet gives the container GPUs or slices.
bool gets_units(const model::ContainerFacts& container) {
  return std::ranges::any_of(container.gpu_resources, [](const auto& entry) {
    return request::is_kubelet_gpu_resource(entry.first) &&
           request::parse_unit_count(entry.second).value_or(0) > 0;
  });
}

/// Appends `before`, which ends with a key and a colon, and then `text` as a JSON string.
void append_field(std::string& out, std::string_view before, std::string_view text) {
  out += before;
  append_json_string(out, text);
}

/// Appends `before`, which ends with a key and a colon, and then `number`.
void append_field(std::string& out, std::string_view before, std::int64_t number) {
  out += before;
  out += std::to_string(number);
}

template <typename Item>
void append_list(std::string& out, const std::vector<Item>& items,
                 void (*append_item)(std::string&, const Item&)) {
  out += '[';
  for (const Item& item : items) {
    if (&item != items.data()) out += ',';
    append_item(out, item);
  }
  out += ']';
}

void append_device(std::string& out, const model::ReservedDevice& device) {
  append_field(out, R"({"index":)", device.index);
  if (!device.uuid.empty()) append_field(out, R"(,"uuid":)", device.uuid);
  append_field(out, R"(,"mode":)", model::to_string(device.mode));
  append_field(out, R"(,"memoryMiB":)", device.memory.value);
  append_field(out, R"(,"computeMilli":)", device.compute.value);
  if (device.slice) {
    append_field(out, R"(,"mig":{"profile":)", device.slice->profile);
    append_field(out, R"(,"start":)", device.slice->start);
    append_field(out, R"(,"size":)", device.slice->size);
    if (!device.slice->uuid.empty()) append_field(out, R"(,"uuid":)", device.slice->uuid);
    out += '}';
  }
  out += '}';
}

void append_container(std::string& out, const model::ReservedContainer& container) {
  append_field(out, R"({"name":)", container.name);
  append_field(out, R"(,"request":)", container.request_text);
  if (const auto* units = std::get_if<model::KubeletUnits>(&container.assigned)) {
    append_field(out, R"(,"assignedBy":"kubelet","resource":)", units->resource);
    append_field(out, R"(,"count":)", units->count);
  } else {
    out += R"(,"devices":)";
    append_list(out, std::get<Devices>(container.assigned), append_device);
  }
  out += '}';
}

/// The values of the three flat annotations of one container. Devices are in the order of their
/// index on the node, because NVIDIA's runtime numbers them in this order inside the container.
struct FlatAnnotations {
  std::string visible_devices;
  std::string memory_limit;
  std::string compute_percent;
};

std::string device_name(const model::ReservedDevice& device, bool all_have_uuids) {
  if (device.slice) return device.slice->uuid;
  return all_have_uuids ? device.uuid : std::to_string(device.index);
}

FlatAnnotations flat_annotations(Devices devices) {
  std::ranges::sort(devices, {}, [](const model::ReservedDevice& device) {
    return std::pair(device.index, device.slice ? device.slice->start : 0);
  });
  const bool all_have_uuids =
      std::ranges::none_of(devices, [](const auto& d) { return !d.slice && d.uuid.empty(); });
  const bool to_be_created =
      std::ranges::any_of(devices, [](const auto& d) { return d.slice && d.slice->uuid.empty(); });
  FlatAnnotations flat;
  std::int64_t least_compute = base::kWholeGpu.value;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const model::ReservedDevice& device = devices[i];
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

void put_annotations(model::StringMap& annotations, const std::string& suffix,
                     const FlatAnnotations& flat) {
  annotations[std::string(admission::kVisibleDevicesKey) + suffix] = flat.visible_devices;
  annotations[std::string(admission::kMemoryLimitKey) + suffix] = flat.memory_limit;
  annotations[std::string(admission::kComputePercentKey) + suffix] = flat.compute_percent;
}

}  // namespace

void append_reservation(std::string& out, const model::Reservation& reservation) {
  append_field(out, R"({"version":1,"uid":)", reservation.uid);
  append_field(out, R"(,"node":)", reservation.node);
  out += R"(,"containers":)";
  append_list(out, reservation.containers, append_container);
  out += '}';
}

void append_devices(std::string& out, const model::Reservation& reservation) {
  Devices all;
  for (const model::ReservedContainer& container : reservation.containers) {
    const std::span<const model::ReservedDevice> devices = container.devices();
    all.insert(all.end(), devices.begin(), devices.end());
  }
  append_list(out, all, append_device);
}

model::StringMap blank_annotations(const model::PodFacts& pod) {
  model::StringMap annotations;
  for (const auto& [key, value] : pod.annotations) {
    if (key.starts_with(kPrefix)) annotations.emplace(key, "");
  }
  return annotations;
}

model::StringMap write_reservation(const model::Reservation& reservation,
                                   std::string_view main_container, const model::PodFacts& pod) {
  model::StringMap annotations = blank_annotations(pod);
  append_reservation(annotations[std::string(kReservationKey)], reservation);
  for (const model::ReservedContainer& container : reservation.containers) {
    const std::span<const model::ReservedDevice> devices = container.devices();
    if (devices.empty()) continue;
    const FlatAnnotations flat = flat_annotations({devices.begin(), devices.end()});
    put_annotations(annotations, "." + container.name, flat);
    if (container.name == main_container) put_annotations(annotations, "", flat);
  }
  return annotations;
}

void require_agent(const model::Reservation& reservation, const model::PodFacts& pod,
                   model::StringMap& annotations) {
  for (const model::ReservedContainer& container : reservation.containers) {
    if (!container.devices().empty()) annotations[requirement_key(container.name)] = kAgent;
  }
  // The reservation lacks plain init containers that use the units of app containers.
  for (const model::ContainerFacts& container : pod.containers) {
    if (gets_units(container)) annotations[requirement_key(container.name)] = kAgent;
  }
}

}  // namespace snug::codec
