// The role of a container. Pure; thread-safe.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "snug/agent/container_decision.hpp"

namespace snug::agent {

struct RoleOfContainer {
  ContainerRole role = ContainerRole::kOrdinary;
  const model::ReservedContainer* reserved = nullptr;  // only with kReserved
  /// Only with kKubeletAssigned: by claims alone. Drivers of DRA give devices by CDI, so that a
  /// variable or mount of the container asks for other GPUs.
  bool by_claims = false;
};

/// The container in the pod's specification; null: the watch does not know it yet.
[[nodiscard]] const PodContainerView* find_container(const ContainerInput& input);

/// A refusal begins with the container's name and its pod's.
[[nodiscard]] std::expected<RoleOfContainer, ContainerRefusal> role_of(const ContainerInput& input,
                                                                       const NodeInput& node);

/// Whether the container keeps NVIDIA_VISIBLE_DEVICES as the kubelet gave it: a device plug-in
/// gives GPUs by the variable, unless it gives them by CDI.
[[nodiscard]] bool keeps_variable(const RoleOfContainer& role, const ContainerView& container);

/// Refuses the container: `sentence` with the container's name and its pod's before it.
[[nodiscard]] std::unexpected<ContainerRefusal> refuse(const ContainerInput& input,
                                                       std::string_view sentence,
                                                       bool retry = false);

/// Refuses the requests for GPUs that a container of this role may not make: in annotations,
/// mounts, CDI devices and device nodes that it has before any plug-in changed it.
[[nodiscard]] std::expected<void, ContainerRefusal> check_requests(const ContainerInput& input,
                                                                   const RoleOfContainer& role,
                                                                   const NodeInput& node);

}  // namespace snug::agent
