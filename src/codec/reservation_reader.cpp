#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "codec/json.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

using Devices = std::vector<ReservedDevice>;

class ReservationReader {
 public:
  explicit ReservationReader(const Limits& limits) : limits_(limits) {}

  Result<Reservation> read(const JsonDocument& document) {
    const JsonAt root{.value = document.root()};
    (void)json_.integer(json_.required(root, "version"), {1, 1});
    Reservation reservation;
    reservation.uid = json_.nonempty_text(json_.required(root, "uid"));
    reservation.node = json_.nonempty_text(json_.required(root, "node"));
    const JsonAt containers = json_.required(root, "containers");
    std::set<std::pair<std::string, std::string>> names;
    for (const JsonAt& item : json_.items(containers)) {
      if (!json_.ok()) break;
      const ReservedContainer& container =
          reservation.containers.emplace_back(read_container(item));
      // A container may have units of several resources, and then stands here once for each.
      const auto* units = std::get_if<KubeletUnits>(&container.given);
      const std::string resource = units != nullptr ? units->resource : std::string();
      if (!names.emplace(container.name, resource).second) {
        json_.complain(item, "has a name used before");
      }
    }
    if (reservation.containers.empty()) json_.complain(containers, "must not be empty");
    if (!json_.ok()) return fail(ErrorCode::kInvalid, json_.problem());
    return reservation;
  }

 private:
  ReservedContainer read_container(const JsonAt& at) {
    ReservedContainer container;
    container.name = json_.nonempty_text(json_.required(at, "name"));
    container.request = json_.text(json_.required(at, "request"));
    const JsonAt devices = json_.member(at, "devices");
    const JsonAt assigned_by = json_.member(at, "assignedBy");
    if (devices.present() == assigned_by.present()) {
      json_.complain(at, "must have either devices or assignedBy");
    } else if (devices.present()) {
      container.given = read_devices(devices);
    } else {
      container.given = read_units(at, assigned_by);
    }
    return container;
  }

  KubeletUnits read_units(const JsonAt& at, const JsonAt& assigned_by) {
    if (json_.text(assigned_by) != "kubelet") json_.complain(assigned_by, "must be kubelet");
    KubeletUnits units;
    units.resource = json_.nonempty_text(json_.required(at, "resource"));
    units.count = json_.integer(json_.required(at, "count"), kPositive);
    return units;
  }

  Devices read_devices(const JsonAt& at) {
    Devices devices;
    const auto items = json_.items(at);
    if (items.empty() || static_cast<std::int64_t>(items.size()) > limits_.max_gpus_per_node) {
      json_.complain(at, "must have 1 to " + std::to_string(limits_.max_gpus_per_node) +
                             " entries (limit maxGpusPerNode)");
    }
    for (const JsonAt& item : items) devices.push_back(read_device(item));
    return devices;
  }

  ReservedDevice read_device(const JsonAt& at) {
    ReservedDevice device;
    device.index = static_cast<int>(json_.integer(json_.required(at, "index"), kGpuIndex));
    device.uuid = json_.nonempty_text(json_.member(at, "uuid"));
    const JsonAt mode = json_.required(at, "mode");
    device.mode = mode_from(json_.text(mode));
    if (device.mode == GpuMode::kNone) {
      json_.complain(mode, "must be whole, time-slicing, mps or mig");
    }
    device.memory = {json_.integer(json_.required(at, "memoryMiB"), kNonNegative)};
    device.compute = {json_.integer(json_.required(at, "computeMilli"), {0, kWholeGpu.value})};
    const JsonAt mig = json_.member(at, "mig");
    if (mig.present() != (device.mode == GpuMode::kMig)) {
      json_.complain(mig, "must be there with the mode mig, and with no other");
    }
    if (mig.present()) device.slice = read_slice(mig);
    return device;
  }

  Slice read_slice(const JsonAt& at) {
    Slice slice;
    slice.profile = json_.nonempty_text(json_.required(at, "profile"));
    slice.start = static_cast<int>(json_.integer(json_.required(at, "start"), kAxisStart));
    slice.size = static_cast<int>(json_.integer(json_.required(at, "size"), kAxisSize));
    slice.uuid = json_.nonempty_text(json_.member(at, "uuid"));
    return slice;
  }

  const Limits& limits_;
  JsonReader json_;
};

bool names_twice(const Devices& devices) {
  std::set<int> indices;
  return std::ranges::any_of(
      devices, [&](const ReservedDevice& device) { return !indices.insert(device.index).second; });
}

using Asks = std::vector<std::optional<ContainerRequest>>;  // in the reservation's order

bool is_whole(const std::optional<ContainerRequest>& asked) {
  return asked && std::holds_alternative<WholeAsk>(asked->ask);
}

/// Whether a container of the pod asked for this GPU whole. A plain init container with a share
/// uses it before that one runs, in the mode that the GPU has.
bool is_held_whole(const ReservedDevice& device, const Reservation& reservation, const Asks& asks) {
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const auto* devices = std::get_if<Devices>(&reservation.containers[i].given);
    if (devices == nullptr || !is_whole(asks[i])) continue;
    for (const ReservedDevice& other : *devices) {
      const bool same = other.index == device.index && other.uuid == device.uuid;
      if (same && other.mode == GpuMode::kWhole) return true;
    }
  }
  return false;
}

/// Whether a share may be had of a GPU that tenants share in this way. Any share may be a slice,
/// which is what it gets of a GPU in MIG mode, unless it says otherwise.
bool keeps_apart(Isolation isolation, GpuMode mode) {
  switch (isolation) {
    case Isolation::kAny:
      return mode != GpuMode::kWhole;
    case Isolation::kTimeSlicing:
      return mode == GpuMode::kTimeSlicing;
    case Isolation::kMps:
      return mode == GpuMode::kMps;
    case Isolation::kMig:
      return mode == GpuMode::kMig;
  }
  return false;
}

/// Whether the devices are of the number and kind that the request asks for.
bool agrees(const ContainerRequest& asked, const Devices& devices, const Reservation& reservation,
            const Asks& asks) {
  if (std::holds_alternative<KubeletAsk>(asked.ask)) return false;
  if (!std::cmp_equal(devices.size(), asked.count) || names_twice(devices)) return false;
  const bool asks_whole = std::holds_alternative<WholeAsk>(asked.ask);
  const bool asks_slice = std::holds_alternative<SliceAsk>(asked.ask);
  return std::ranges::all_of(devices, [&](const ReservedDevice& device) {
    if (asks_whole) return device.mode == GpuMode::kWhole;
    if (asks_slice) return device.mode == GpuMode::kMig;
    return keeps_apart(asked.isolation, device.mode) ||
           (asked.isolation == Isolation::kAny && is_held_whole(device, reservation, asks));
  });
}

bool agrees(const ContainerRequest& asked, const KubeletUnits& units) {
  return asked.ask == Ask(KubeletAsk{units.resource}) && asked.count == units.count;
}

std::string why_not(const ReservedContainer& container, bool understood) {
  const std::string name = in_quotes(container.name);
  const std::string request = in_quotes(container.request);
  if (understood) {
    return "the devices of container " + name + " are not what its request " + request +
           " asks for";
  }
  return "the request " + request + " of container " + name +
         " in its reservation is none that this version understands";
}

/// Reads the requests' texts, and says of the first that is not what was given.
void compare_with_requests(ReadReservation& read) {
  const std::vector<ReservedContainer>& containers = read.reservation.containers;
  for (const ReservedContainer& container : containers) {
    read.asks.push_back(parse_request_text(container.request));
  }
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::optional<ContainerRequest>& asked = read.asks[i];
    const auto* units = std::get_if<KubeletUnits>(&containers[i].given);
    const bool good =
        asked && (units != nullptr ? agrees(*asked, *units)
                                   : agrees(*asked, std::get<Devices>(containers[i].given),
                                            read.reservation, read.asks));
    if (good) continue;
    read.suspect = true;
    read.suspect_why = why_not(containers[i], asked.has_value());
    return;
  }
}

}  // namespace

Result<ReadReservation> read_reservation(std::string_view json, const Limits& limits) {
  const auto malformed = [](ErrorCode code, const std::string& what) {
    return fail(code, "the annotation snug.dev/reservation is malformed: " + what);
  };
  if (static_cast<std::int64_t>(json.size()) > limits.max_reservation_bytes) {
    return malformed(ErrorCode::kTooLarge, "it has more than " +
                                               std::to_string(limits.max_reservation_bytes) +
                                               " bytes (limit maxReservationBytes)");
  }
  const auto document = parse_json(json, limits.max_json_depth);
  if (!document) return malformed(ErrorCode::kInvalid, "it " + document.error().message);
  auto reservation = ReservationReader(limits).read(*document);
  if (!reservation) return malformed(ErrorCode::kInvalid, reservation.error().message);
  ReadReservation read{.reservation = *std::move(reservation)};
  compare_with_requests(read);
  return read;
}

}  // namespace snug
