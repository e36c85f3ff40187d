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

/// The GPUs that the downward API gives the container in NVIDIA_VISIBLE_DEVICES; empty: none.
[[nodiscard]] std::string_view given_variable(const ContainerInput& input);

/// A refusal begins with the container's name and its pod's.
[[nodiscard]] std::expected<RoleOfContainer, ContainerRefusal> role_of(const ContainerInput& input,
                                                                       const NodeInput& node);

/// How a reserved container reaches its MPS daemon.
[[nodiscard]] MpsClient mps_client(const ContainerInput& input,
                                   const model::ReservedContainer& reserved, const NodeInput& node);

/// What a reserved container gets so that it stays within its shares.
[[nodiscard]] std::expected<ShareAdditions, ContainerRefusal> additions_of(
    const ContainerInput& input, const model::ReservedContainer& reserved, const NodeInput& node);

/// Whether the container keeps NVIDIA_VISIBLE_DEVICES as the kubelet gave it: a device plug-in
/// gives GPUs by the variable, unless it gives them by CDI or the variable names none.
[[nodiscard]] bool keeps_variable(const RoleOfContainer& role, const ContainerView& container);

/// The container's CDI device of Snug, qualified; empty if it needs none. It has one if devices are
/// reserved for it, or if NVIDIA_VISIBLE_DEVICES is set more than once, as by its image and its
/// pod: NRI changes only the first entry, and the runtime takes the last. CDI changes what is left.
[[nodiscard]] std::string own_device(const ContainerInput& input, const RoleOfContainer& role);

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
