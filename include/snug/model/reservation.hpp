// The GPUs reserved for one pod. Reservations are stored in the annotation snug.dev/reservation
// (codec/reservation_codec), which is the source of truth after a restart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/mirrored_amounts.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"

namespace snug::model {

struct ReservedDevice {
  int index = 0;
  std::string uuid;  // empty if the GPU is identified only by its index
  GpuMode mode = GpuMode::kNone;
  base::MebiBytes memory;
  base::MilliGpu compute;
  std::optional<Slice> slice;  // only with mode kMig

  friend bool operator==(const ReservedDevice&, const ReservedDevice&) = default;
};

/// Units of a resource nvidia.com/*. The kubelet chooses their devices.
struct KubeletUnits {
  std::string resource;
  std::int64_t count = 0;

  friend bool operator==(const KubeletUnits&, const KubeletUnits&) = default;
};

struct ReservedContainer {
  std::string name;
  std::string request_text;  // ContainerRequest::text
  std::variant<std::vector<ReservedDevice>, KubeletUnits> assigned;

  /// The devices that Snug assigned. Empty if the kubelet assigns the container's units.
  [[nodiscard]] std::span<const ReservedDevice> devices() const {
    const auto* snug_assigned = std::get_if<std::vector<ReservedDevice>>(&assigned);
    return snug_assigned == nullptr ? std::span<const ReservedDevice>() : *snug_assigned;
  }

  friend bool operator==(const ReservedContainer&, const ReservedContainer&) = default;
};

struct Reservation {
  std::string uid;
  std::string node;
  std::vector<ReservedContainer> containers;

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// All that one pod holds on its node: GPUs (if any), CPU and memory. Holdings are immutable; the
/// ledger and its snapshots share them.
struct Holding {
  std::string name_space;
  std::string pod;
  std::string uid;
  Reservation reservation;
  /// The requests of the containers of the reservation, in the same order; nullopt for a text that
  /// does not parse. If the vector is empty, the devices are not compared with requests.
  std::vector<std::optional<ContainerRequest>> container_requests;
  /// The types of the containers of the reservation, in the same order. Missing elements mean kApp.
  std::vector<ContainerType> container_types;
  std::string request_text;  // the pod's request, as to_text() formats it
  std::string main_container;
  /// Whether the pod is annotated, but another scheduler bound it, so that it has no devices. While
  /// it exists, its node accepts no other annotated pods.
  bool unplaced = false;
  /// Whether the reservation is in the pod's annotations, or its binding will write it there. False
  /// if another scheduler bound the pod.
  bool reservation_written = false;
  /// Whether the type or number of the devices contradicts the pod's request. These devices are
  /// closed while the pod exists.
  bool suspect = false;
  bool terminating = false;            // the pod is being deleted; it still holds its devices
  bool has_other_constraints = false;  // PodFacts::has_other_constraints
  HostResources host;                  // CPU and memory, computed by request::host_requests_of()
  MirroredAmounts mirrored;            // computed by request::mirrored_amounts_of()
  PodRank rank;

  /// Whether the pod holds no GPU and has requested none.
  [[nodiscard]] bool is_cpu_only() const { return !unplaced && reservation.containers.empty(); }
  [[nodiscard]] ContainerType container_type(std::size_t container) const {
    return container < container_types.size() ? container_types[container] : ContainerType::kApp;
  }
};
using HoldingPtr = std::shared_ptr<const Holding>;

}  // namespace snug::model
