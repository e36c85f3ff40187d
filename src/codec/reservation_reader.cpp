#include <algorithm>
#include <set>

#include "codec/json.hpp"
#include "codec/text.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "snug/request/parse.hpp"

namespace snug {
namespace {

using Devices = std::vector<ReservedDevice>;

class ReservationReader {
 public:
  explicit ReservationReader(const Limits& limits) : limits_(limits) {}

  Result<Reservation> read(const nlohmann::json& document) {
    const JsonAt root{&document, ""};
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
    device.index = static_cast<int>(json_.integer(json_.required(at, "index"), {0, 65'535}));
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
    slice.start = static_cast<int>(json_.integer(json_.required(at, "start"), {0, 255}));
    slice.size = static_cast<int>(json_.integer(json_.required(at, "size"), {1, 256}));
    slice.uuid = json_.nonempty_text(json_.member(at, "uuid"));
    return slice;
  }

  const Limits& limits_;
  JsonReader json_;
};

bool is_share(const ReservedDevice& device) {
  return device.mode == GpuMode::kTimeSlicing || device.mode == GpuMode::kMps;
}

/// `0.25` as thousandths; nothing for other texts.
std::optional<std::int64_t> thousandths(std::string_view text) {
  if (!text.starts_with("0.") || text.size() < 3 || text.size() > 5) return std::nullopt;
  std::int64_t value = 0;
  for (std::size_t i = 2; i < 5; ++i) {
    const char digit = i < text.size() ? text[i] : '0';
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + (digit - '0');
  }
  return value;
}

/// Whether the devices are what the text asks for; true for a text that is not understood here,
/// and for slices, whose size depends on the GPU.
bool agrees(std::string_view request, const Devices& devices) {
  constexpr std::string_view kFraction = "gpu-fraction=";
  constexpr std::string_view kMemory = "gpu-memory=";
  if (std::ranges::any_of(devices, [](const auto& d) { return d.slice.has_value(); })) return true;
  const bool one_share = devices.size() == 1 && is_share(devices.front());
  if (request.starts_with(kFraction)) {
    const std::string_view value = request.substr(kFraction.size());
    if (const auto milli = thousandths(value)) {
      return one_share && devices.front().compute.value == *milli;
    }
    const auto count = parse_integer(value);
    if (!count || *count < 1) return true;
    return std::cmp_equal(devices.size(), *count) &&
           std::ranges::all_of(devices, [](const ReservedDevice& d) {
             return d.mode == GpuMode::kWhole && d.compute == kWholeGpu;
           });
  }
  if (request.starts_with(kMemory)) {
    const auto memory = parse_memory(request.substr(kMemory.size()));
    return !memory || (one_share && devices.front().memory == *memory);
  }
  return true;
}

bool agrees(std::string_view request, const KubeletUnits& units) {
  const std::string resource = units.resource + "=";
  if (!request.starts_with("nvidia.com/")) return true;
  return request.starts_with(resource) &&
         parse_integer(request.substr(resource.size())) == units.count;
}

bool names_twice(const Devices& devices) {
  std::set<int> indices;
  return std::ranges::any_of(devices, [&](const ReservedDevice& device) {
    return !device.slice && !indices.insert(device.index).second;
  });
}

void find_suspect(ReadReservation& read) {
  for (const ReservedContainer& container : read.reservation.containers) {
    const auto* devices = std::get_if<Devices>(&container.given);
    const bool good = devices != nullptr
                          ? agrees(container.request, *devices)
                          : agrees(container.request, std::get<KubeletUnits>(container.given));
    if (good && (devices == nullptr || !names_twice(*devices))) continue;
    read.suspect = true;
    read.suspect_why = "the devices of container " + in_quotes(container.name) +
                       " are not what its request " + in_quotes(container.request) + " asks for";
    return;
  }
}

}  // namespace

Result<ReadReservation> read_reservation(std::string_view json, const Limits& limits) {
  const std::string where = "the annotation snug.dev/reservation is malformed: ";
  if (static_cast<std::int64_t>(json.size()) > limits.max_reservation_bytes) {
    return fail(ErrorCode::kTooLarge, where + "it has more than " +
                                          std::to_string(limits.max_reservation_bytes) +
                                          " bytes (limit maxReservationBytes)");
  }
  const auto document = parse_json(json, limits.max_json_depth);
  if (!document) return fail(ErrorCode::kInvalid, where + "it " + document.error().message);
  auto reservation = ReservationReader(limits).read(*document);
  if (!reservation) return fail(ErrorCode::kInvalid, where + reservation.error().message);
  ReadReservation read{*std::move(reservation), false, ""};
  find_suspect(read);
  return read;
}

}  // namespace snug
