// The GPUs reserved for one pod, as stored in the annotation snug.dev/reservation
// (codec/reservation_codec). The source of truth after a restart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"

namespace snug::model {

struct ReservedDevice {
  int index = 0;
  std::string uuid;  // empty: reserved by index
  GpuMode mode = GpuMode::kNone;
  base::MebiBytes memory;
  base::MilliGpu compute;
  std::optional<Slice> slice;  // only with mode kMig

  friend bool operator==(const ReservedDevice&, const ReservedDevice&) = default;
};

/// Units whose devices the kubelet chooses.
struct KubeletUnits {
  std::string resource;
  std::int64_t count = 0;

  friend bool operator==(const KubeletUnits&, const KubeletUnits&) = default;
};

struct ReservedContainer {
  std::string name;
  std::string request_text;  // ContainerRequest::text
  std::variant<std::vector<ReservedDevice>, KubeletUnits> assigned;

  friend bool operator==(const ReservedContainer&, const ReservedContainer&) = default;
};

struct Reservation {
  std::string uid;
  std::string node;
  std::vector<ReservedContainer> containers;

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// What one pod holds on one node: its GPUs, if any, and its CPU and memory. Immutable; shared
/// between the ledger and its snapshots.
struct Holding {
  std::string name_space;
  std::string pod;
  std::string uid;
  Reservation reservation;
  /// The request of each container of the reservation, in order; nullopt: its text does not parse.
  /// Empty: the devices are not compared with requests.
  std::vector<std::optional<ContainerRequest>> container_requests;
  /// The kind of each container of the reservation, in order; a missing one is an app container.
  std::vector<ContainerType> container_types;
  std::string request_text;  // as the pod states it
  std::string main_container;
  /// The pod is annotated, was bound by another scheduler, and has no device. Its node accepts no
  /// annotated pods while it lives.
  bool unplaced = false;
  /// The reservation is stored in the pod's annotations, or its binding will store it. False: it
  /// only counts a pod that another scheduler bound.
  bool reservation_written = false;
  /// The devices do not match the pod's own request in type or number; they are closed while the
  /// pod lives.
  bool suspect = false;
  bool terminating = false;            // being deleted; it holds everything until it is gone
  bool has_other_constraints = false;  // PodFacts::has_other_constraints
  HostResources host;                  // by kube-scheduler's formula
  PodRank rank;

  /// Whether it holds no GPU and requested none.
  [[nodiscard]] bool is_cpu_only() const { return !unplaced && reservation.containers.empty(); }
  [[nodiscard]] ContainerType container_type(std::size_t container) const {
    return container < container_types.size() ? container_types[container] : ContainerType::kApp;
  }
};
using HoldingPtr = std::shared_ptr<const Holding>;

}  // namespace snug::model
