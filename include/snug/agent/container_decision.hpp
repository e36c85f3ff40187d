// What a container gets when the runtime creates it: its role, and the changes that the agent makes
// to it (docs/decisions/0033-the-agent.md). Pure: the same input gives the same answer.
// Thread-safe.
//
// A container is refused if its role or its devices are unknown, so that no container ever starts
// with a GPU that is not its own. What its image, variables and annotations say gives it nothing:
// only a reservation for its pod's uid on this node does, or the pod's specification in the API
// server.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/cdi_spec.hpp"
#include "snug/agent/container_view.hpp"
#include "snug/agent/device_report.hpp"
#include "snug/agent/driver_files.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/agent/pod_view.hpp"
#include "snug/agent/reserved_slices.hpp"
#include "snug/agent/share_limits.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/model/reservation.hpp"

namespace snug::agent {

enum class ContainerRole : std::uint8_t {
  kReserved,         // Snug reserved devices for it
  kKubeletAssigned,  // a device plug-in or a DRA driver gives it devices
  kExempt,           // the operator's list has its pod
  kOrdinary,         // all others: no GPU
};

inline constexpr base::EnumNames kContainerRoleNames{
    std::array{base::EnumName{ContainerRole::kReserved, "reserved"},
               base::EnumName{ContainerRole::kKubeletAssigned, "kubelet-assigned"},
               base::EnumName{ContainerRole::kExempt, "exempt"},
               base::EnumName{ContainerRole::kOrdinary, "ordinary"}}};

[[nodiscard]] constexpr std::string_view to_string(ContainerRole role) {
  return kContainerRoleNames[role];
}

/// The annotation snug.dev/reservation as codec::read_reservation() read it, or its error.
using ReadReservation = std::expected<model::Reservation, std::string>;

/// The kubelet's annotation that says from where it has a pod.
inline constexpr std::string_view kConfigSourceKey = "kubernetes.io/config.source";

/// Whether the role of a pod's containers, and what audits find, can depend on this annotation.
[[nodiscard]] constexpr bool decides_role(std::string_view annotation) {
  return annotation.starts_with("snug.dev/") || annotation == kConfigSourceKey;
}

/// A container and what is known about it. All must outlive the call.
struct ContainerInput {
  const SandboxView& sandbox;
  const ContainerView& container;
  const PodView* pod = nullptr;  // with the sandbox's uid as its runtime_uid; null: not known yet
  /// Null if the sandbox has no annotation snug.dev/reservation, or an empty one.
  const ReadReservation* reservation = nullptr;
};

/// What is known about the node. All must outlive the call.
struct NodeInput {
  std::string_view name;
  const NodeDevices& devices;
  const DriverFiles& files;
  std::span<const Exemption> exemptions;
  const ShareSettings* shares = nullptr;  // null: as ShareSettings{}
  /// Null: containers are not refused because of their daemons, which then have no namespaces.
  const MpsDaemons* daemons = nullptr;
  bool makes_slices = false;  // whether the agent makes reserved slices that do not exist
  std::span<const SliceFailure> slice_failures = {};  // why it has not made some of them
};

struct ContainerDecision {
  ContainerRole role = ContainerRole::kOrdinary;
  Adjustment adjustment;
  std::optional<CdiSpec> spec;  // must be written before the answer

  friend bool operator==(const ContainerDecision&, const ContainerDecision&) = default;
};

struct ContainerRefusal {
  std::string sentence;  // for people: the kubelet shows it in an event of the pod
  bool retry = false;    // whether the cause can end without a change of the pod

  friend bool operator==(const ContainerRefusal&, const ContainerRefusal&) = default;
};

[[nodiscard]] std::expected<ContainerDecision, ContainerRefusal> decide_container(
    const ContainerInput& input, const NodeInput& node);

/// The limits that the driver is to hold for the container when it starts; none if it is not
/// reserved.
[[nodiscard]] std::expected<std::vector<MemoryLimit>, ContainerRefusal> limits_at_start(
    const ContainerInput& input, const NodeInput& node);

/// Whether the files have every device node that a reservation on the node may need.
[[nodiscard]] bool has_all_nodes(const NodeDevices& devices, const DriverFiles& files);

/// Judges what all plug-ins together do to the container. `input.container` is the container before
/// any of them changed it.
[[nodiscard]] std::expected<void, ContainerRefusal> validate_container(const ContainerInput& input,
                                                                       const Adjustment& all,
                                                                       const NodeInput& node);

}  // namespace snug::agent
