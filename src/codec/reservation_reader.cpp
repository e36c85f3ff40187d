#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codec/json_reader.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/request/pod_request_parser.hpp"

namespace snug::codec {
namespace {

using Devices = std::vector<model::ReservedDevice>;

class ReservationReader {
 public:
  explicit ReservationReader(const base::Limits& limits) : limits_(limits) {}

  base::Result<model::Reservation> read(const JsonDocument& document) {
    const JsonCursor root{.value = document.root()};
    (void)json_.integer(json_.required(root, "version"), {1, 1});
    model::Reservation reservation;
    reservation.uid = json_.nonempty_text(json_.required(root, "uid"));
    reservation.node = json_.nonempty_text(json_.required(root, "node"));
    const JsonCursor containers = json_.required(root, "containers");
    std::set<std::pair<std::string, std::string>> names;
    for (const JsonCursor& item : json_.items(containers)) {
      if (!json_.ok()) break;
      const model::ReservedContainer& container =
          reservation.containers.emplace_back(read_container(item));
      // If the kubelet assigns units of several resources to one container, `containers` has one
      // entry for each of these resources.
      const auto* units = std::get_if<model::KubeletUnits>(&container.assigned);
      const std::string resource = units != nullptr ? units->resource : std::string();
      if (!names.emplace(container.name, resource).second) {
        json_.report_problem(item, "repeats the name of an earlier container");
      }
    }
    if (reservation.containers.empty()) json_.report_problem(containers, "must not be empty");
    if (!json_.ok()) return base::fail(base::ErrorCode::kInvalid, json_.problem());
    return reservation;
  }

 private:
  model::ReservedContainer read_container(const JsonCursor& container_cursor) {
    model::ReservedContainer container;
    container.name = json_.nonempty_text(json_.required(container_cursor, "name"));
    container.request_text = json_.text(json_.required(container_cursor, "request"));
    const JsonCursor devices = json_.member(container_cursor, "devices");
    const JsonCursor assigned_by = json_.member(container_cursor, "assignedBy");
    if (devices.present() == assigned_by.present()) {
      json_.report_problem(container_cursor, "must have either devices or assignedBy");
    } else if (devices.present()) {
      container.assigned = read_devices(devices);
    } else {
      container.assigned = read_units(container_cursor, assigned_by);
    }
    return container;
  }

  model::KubeletUnits read_units(const JsonCursor& container_cursor,
                                 const JsonCursor& assigned_by) {
    if (json_.text(assigned_by) != "kubelet") json_.report_problem(assigned_by, "must be kubelet");
    model::KubeletUnits units;
    units.resource = json_.nonempty_text(json_.required(container_cursor, "resource"));
    units.count = json_.integer(json_.required(container_cursor, "count"), kPositive);
    return units;
  }

  Devices read_devices(const JsonCursor& devices_cursor) {
    Devices devices;
    const auto items = json_.items(devices_cursor);
    if (items.empty() || static_cast<std::int64_t>(items.size()) > limits_.max_gpus_per_node) {
      json_.report_problem(
          devices_cursor,
          "must have 1 to " + std::to_string(limits_.max_gpus_per_node) + " entries");
    }
    for (const JsonCursor& item : items) devices.push_back(read_device(item));
    return devices;
  }

  model::ReservedDevice read_device(const JsonCursor& device_cursor) {
    model::ReservedDevice device;
    device.index =
        static_cast<int>(json_.integer(json_.required(device_cursor, "index"), kGpuIndex));
    device.uuid = json_.nonempty_text(json_.member(device_cursor, "uuid"));
    const JsonCursor mode = json_.required(device_cursor, "mode");
    device.mode = model::parse_gpu_mode(json_.text(mode));
    if (device.mode == model::GpuMode::kNone) {
      json_.report_problem(mode, "must be whole, time-slicing, mps or mig");
    }
    device.memory = {json_.integer(json_.required(device_cursor, "memoryMiB"), kNonNegative)};
    device.compute = {
        json_.integer(json_.required(device_cursor, "computeMilli"), {0, base::kWholeGpu.value})};
    const JsonCursor mig = json_.member(device_cursor, "mig");
    if (mig.present() != (device.mode == model::GpuMode::kMig)) {
      json_.report_problem(mig, "must be present if mode is mig, and only then");
    }
    if (mig.present()) device.slice = read_slice(mig);
    return device;
  }

  model::Slice read_slice(const JsonCursor& slice_cursor) {
    model::Slice slice;
    slice.profile = json_.nonempty_text(json_.required(slice_cursor, "profile"));
    slice.start =
        static_cast<int>(json_.integer(json_.required(slice_cursor, "start"), kAxisStart));
    slice.size = static_cast<int>(json_.integer(json_.required(slice_cursor, "size"), kAxisSize));
    slice.uuid = json_.nonempty_text(json_.member(slice_cursor, "uuid"));
    return slice;
  }

  const base::Limits& limits_;
  JsonReader json_;
};

bool has_duplicate_device(const Devices& devices) {
  std::set<int> indices;
  return std::ranges::any_of(devices, [&](const model::ReservedDevice& device) {
    return !indices.insert(device.index).second;
  });
}

using ContainerRequests =
    std::vector<std::optional<model::ContainerRequest>>;  // in the order of the reservation

bool is_whole(const std::optional<model::ContainerRequest>& container_request) {
  return container_request &&
         std::holds_alternative<model::WholeGpuRequest>(container_request->device);
}

/// Whether this GPU is also reserved for a container that requests whole GPUs. If so, an init
/// container that requests a share may use the GPU in mode `whole`, because the init container ends
/// before that container starts.
bool is_held_whole(const model::ReservedDevice& device, const model::Reservation& reservation,
                   const ContainerRequests& container_requests) {
  for (std::size_t i = 0; i < container_requests.size(); ++i) {
    if (!is_whole(container_requests[i])) continue;
    for (const model::ReservedDevice& held_device : reservation.containers[i].devices()) {
      const bool is_same_gpu = held_device.index == device.index && held_device.uuid == device.uuid;
      if (is_same_gpu && held_device.mode == model::GpuMode::kWhole) return true;
    }
  }
  return false;
}

/// Whether a device in this mode can serve a share that requests this isolation. If the isolation
/// is kAny, the device may also be a MIG slice.
bool mode_satisfies(model::Isolation isolation, model::GpuMode mode) {
  switch (isolation) {
    case model::Isolation::kAny:
      return mode != model::GpuMode::kWhole;
    case model::Isolation::kTimeSlicing:
      return mode == model::GpuMode::kTimeSlicing;
    case model::Isolation::kMps:
      return mode == model::GpuMode::kMps;
    case model::Isolation::kMig:
      return mode == model::GpuMode::kMig;
  }
  return false;
}

/// Whether the number and the modes of the devices match the request.
bool matches_request(const model::ContainerRequest& container_request, const Devices& devices,
                     const model::Reservation& reservation,
                     const ContainerRequests& container_requests) {
  if (std::holds_alternative<model::KubeletRequest>(container_request.device)) return false;
  if (!std::cmp_equal(devices.size(), container_request.count) || has_duplicate_device(devices))
    return false;
  const bool asks_whole = std::holds_alternative<model::WholeGpuRequest>(container_request.device);
  const bool asks_slice = std::holds_alternative<model::SliceRequest>(container_request.device);
  return std::ranges::all_of(devices, [&](const model::ReservedDevice& device) {
    if (asks_whole) return device.mode == model::GpuMode::kWhole;
    if (asks_slice) return device.mode == model::GpuMode::kMig;
    return mode_satisfies(container_request.isolation, device.mode) ||
           (container_request.isolation == model::Isolation::kAny &&
            is_held_whole(device, reservation, container_requests));
  });
}

bool matches_request(const model::ContainerRequest& container_request,
                     const model::KubeletUnits& units) {
  return container_request.device == model::DeviceRequest(model::KubeletRequest{units.resource}) &&
         container_request.count == units.count;
}

std::string mismatch_text(const model::ReservedContainer& container, bool request_understood) {
  const std::string name = base::in_quotes(container.name);
  const std::string request = base::in_quotes(container.request_text);
  if (request_understood) {
    return "the devices of container " + name + " are not what its request " + request +
           " asks for";
  }
  return "the request " + request + " of container " + name +
         " in the reservation is unknown to this version of Snug";
}

/// Parses the request of each container. Marks the reservation as suspect if the devices of a
/// container do not match its request.
void compare_with_requests(ParsedReservation& parsed_reservation) {
  const std::vector<model::ReservedContainer>& containers =
      parsed_reservation.reservation.containers;
  for (const model::ReservedContainer& container : containers) {
    parsed_reservation.container_requests.push_back(
        request::parse_request_text(container.request_text));
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::optional<model::ContainerRequest>& container_request =
        parsed_reservation.container_requests[i];
    const auto* units = std::get_if<model::KubeletUnits>(&containers[i].assigned);
    const bool devices_match =
        container_request &&
        (units != nullptr
             ? matches_request(*container_request, *units)
             : matches_request(*container_request, std::get<Devices>(containers[i].assigned),
                               parsed_reservation.reservation,
                               parsed_reservation.container_requests));
    if (devices_match) continue;
    parsed_reservation.suspect = true;
    parsed_reservation.suspect_reason = mismatch_text(containers[i], container_request.has_value());
    return;
  }
}

}  // namespace

base::Result<ParsedReservation> read_reservation(std::string_view json,
                                                 const base::Limits& limits) {
  const auto malformed = [](base::ErrorCode code, const std::string& problem) {
    return base::fail(code, "the annotation snug.dev/reservation is malformed: " + problem);
  };
  if (static_cast<std::int64_t>(json.size()) > limits.max_reservation_bytes) {
    return malformed(base::ErrorCode::kTooLarge,
                     "it has more than " + std::to_string(limits.max_reservation_bytes) + " bytes");
  }
  const auto document = parse_json(json, limits.max_json_depth);
  if (!document) return malformed(base::ErrorCode::kInvalid, "it " + document.error().message);
  auto reservation = ReservationReader(limits).read(*document);
  if (!reservation) return malformed(base::ErrorCode::kInvalid, reservation.error().message);
  ParsedReservation parsed_reservation{.reservation = *std::move(reservation)};
  compare_with_requests(parsed_reservation);
  return parsed_reservation;
}

}  // namespace snug::codec
