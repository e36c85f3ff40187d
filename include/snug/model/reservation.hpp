// The GPUs given to one pod, as the annotation snug.dev/reservation keeps them
// (codec/reservation_codec writes and reads it). The source of truth after a restart.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "snug/base/units.hpp"
#include "snug/model/node.hpp"
#include "snug/model/pod_rank.hpp"
#include "snug/model/request.hpp"

namespace snug {

struct ReservedDevice {
  int index = 0;
  std::string uuid;  // empty: held by index
  GpuMode mode = GpuMode::kNone;
  MebiBytes memory;
  MilliGpu compute;
  std::optional<Slice> slice;  // with mode kMig

  friend bool operator==(const ReservedDevice&, const ReservedDevice&) = default;
};

/// Units whose device the kubelet picks.
struct KubeletUnits {
  std::string resource;
  std::int64_t count = 0;

  friend bool operator==(const KubeletUnits&, const KubeletUnits&) = default;
};

struct ReservedContainer {
  std::string name;
  std::string request;  // ContainerRequest::text
  std::variant<std::vector<ReservedDevice>, KubeletUnits> given;

  friend bool operator==(const ReservedContainer&, const ReservedContainer&) = default;
};

struct Reservation {
  std::string uid;
  std::string node;
  std::vector<ReservedContainer> containers;

  friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// One pod's hold on one node (its GPUs, if it has any, and its host's cpu and memory), shared
/// between the ledger and its snapshots. Immutable.
struct Holding {
  std::string name_space;
  std::string pod;
  std::string uid;
  Reservation reservation;
  /// What the reservation's containers ask, in their order; nothing: the text is not understood.
  /// Empty: what they hold is not compared with it.
  std::vector<std::optional<ContainerRequest>> asks;
  /// What the reservation's containers are, in their order, which is the pod's; missing: apps.
  std::vector<ContainerKind> kinds;
  std::string request;  // as the pod said it
  std::string main_container;
  /// Annotated, bound by someone else, and given no device: the node takes no annotated pod while
  /// it lives and asks.
  bool unplaced = false;
  /// The reservation stands in the pod's annotations, or will by its binding; false: it is only how
  /// a pod that someone else bound is counted.
  bool written = false;
  /// Its devices are not of the kind and number that its own request asks for: they close while it
  /// lives.
  bool suspect = false;
  bool terminating = false;        // its deletion has begun; it holds all it has until it is gone
  bool other_constraints = false;  // PodFacts
  HostAmounts host;                // by kube-scheduler's formula
  PodRank rank;

  /// It has no GPU, and asked for none.
  [[nodiscard]] bool of_host_alone() const { return !unplaced && reservation.containers.empty(); }
  [[nodiscard]] ContainerKind kind_of(std::size_t container) const {
    return container < kinds.size() ? kinds[container] : ContainerKind::kApp;
  }
};
using HoldingPtr = std::shared_ptr<const Holding>;

}  // namespace snug
