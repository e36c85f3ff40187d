#include "agent/container_role.hpp"

#include <algorithm>

#include "agent/gpu_signs.hpp"
#include "snug/agent/container_terms.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

constexpr std::string_view kReservationKey = "snug.dev/reservation";
constexpr std::string_view kVisibleDevicesKey = "snug.dev/visible-devices.";
static_assert(decides_role(kReservationKey) && decides_role(kVisibleDevicesKey));

/// Whether the pod is from a file or URL of the kubelet. Its annotations are not from the API
/// server, and the uid that the runtime knows is not the pod's.
bool is_static(const ContainerInput& input) {
  const auto source = input.sandbox.annotations.find(std::string(kConfigSourceKey));
  return (source != input.sandbox.annotations.end() && source->second != "api") ||
         (input.pod != nullptr && input.pod->uid != input.pod->runtime_uid);
}

/// Why the reservation is not valid for this pod on this node; empty: it is, or there is none.
std::string reservation_problem(const ContainerInput& input, const NodeInput& node) {
  if (input.reservation == nullptr) return {};
  const std::string key = "the annotation " + std::string(kReservationKey);
  if (!*input.reservation) return key + " cannot be read: " + input.reservation->error();
  const model::Reservation& reservation = **input.reservation;
  if (is_static(input)) return key + " is in a static pod; only pods that Snug binds have one";
  if (reservation.uid != input.sandbox.uid) {
    return key + " is for the pod with the uid " + in_quotes(reservation.uid) +
           "; the uid of this pod is " + in_quotes(input.sandbox.uid);
  }
  if (reservation.node != node.name) {
    return key + " is for the node " + in_quotes(reservation.node) + "; this node is " +
           in_quotes(node.name);
  }
  return {};
}

const model::ReservedContainer* find_reserved(const ContainerInput& input) {
  if (input.reservation == nullptr || !*input.reservation) return nullptr;
  const auto& containers = (*input.reservation)->containers;
  const auto found =
      std::ranges::find(containers, input.container.name, &model::ReservedContainer::name);
  return found == containers.end() ? nullptr : &*found;
}

/// Whether a reservation that is not valid was meant to give this container devices. If it cannot
/// be read, the annotation for the downward API that Snug writes beside it says so.
bool names_devices(const ContainerInput& input) {
  if (*input.reservation) {
    const model::ReservedContainer* reserved = find_reserved(input);
    return reserved != nullptr && !reserved->devices().empty();
  }
  return !given_variable(input).empty();
}

/// The role of a container without a valid reservation of devices.
std::expected<RoleOfContainer, ContainerRefusal> role_without_devices(const ContainerInput& input,
                                                                      const NodeInput& node,
                                                                      const std::string& problem) {
  const PodContainerView* shown = find_container(input);
  if (shown != nullptr && shown->kubelet_assigned) {
    if (shown->sets_visible_devices) {
      return refuse(input,
                    "its env sets NVIDIA_VISIBLE_DEVICES, which replaces the GPUs that the "
                    "kubelet assigned; remove the variable");
    }
    // The kubelet puts the variables of the plug-in before those of the container, and the runtime
    // keeps the last value of a name: the agent cannot tell which of them set it.
    if (shown->has_env_from && keeps_variable({ContainerRole::kKubeletAssigned}, input.container)) {
      return refuse(input,
                    "its envFrom may set NVIDIA_VISIBLE_DEVICES, which replaces the GPUs that the "
                    "kubelet assigned; name each variable in env, with configMapKeyRef or "
                    "secretKeyRef");
    }
    return RoleOfContainer{ContainerRole::kKubeletAssigned};
  }
  if (input.pod != nullptr &&
      is_exempt(node.exemptions, input.pod->name_space, input.pod->service_account)) {
    return RoleOfContainer{ContainerRole::kExempt};
  }
  if (shown != nullptr && shown->has_claims) {
    return RoleOfContainer{.role = ContainerRole::kKubeletAssigned, .by_claims = true};
  }
  const model::ReservedContainer* reserved = problem.empty() ? find_reserved(input) : nullptr;
  const bool may_have_gpu =
      reserved != nullptr || shows_gpu(input.container, node.files) ||
      (input.pod == nullptr && may_be_exempt(node.exemptions, input.sandbox.name_space));
  if (shown == nullptr && may_have_gpu) {
    return refuse(input,
                  "it may get GPUs from a device plug-in, but the API server has not shown "
                  "its pod's specification to snug-agent yet",
                  true);
  }
  if (!problem.empty() && names_devices(input)) return refuse(input, problem);
  return RoleOfContainer{ContainerRole::kOrdinary};
}

}  // namespace

const PodContainerView* find_container(const ContainerInput& input) {
  if (input.pod == nullptr) return nullptr;
  const auto found =
      std::ranges::find(input.pod->containers, input.container.name, &PodContainerView::name);
  return found == input.pod->containers.end() ? nullptr : &*found;
}

std::string_view given_variable(const ContainerInput& input) {
  const auto found =
      input.sandbox.annotations.find(std::string(kVisibleDevicesKey) + input.container.name);
  return found == input.sandbox.annotations.end() ? std::string_view() : found->second;
}

std::string own_device(const ContainerInput& input, const RoleOfContainer& role) {
  const auto sets_devices = [](std::string_view entry) {
    return value_of(entry, kVisibleDevices).has_value();
  };
  if (role.reserved == nullptr && std::ranges::count_if(input.container.env, sets_devices) < 2)
    return {};
  return CdiSpec{.device = cdi_device_name(input.sandbox.uid, input.container.name)}
      .qualified_name();
}

std::unexpected<ContainerRefusal> refuse(const ContainerInput& input, std::string_view sentence,
                                         bool retry) {
  return std::unexpected(ContainerRefusal{"container " + in_quotes(input.container.name) +
                                              " of the pod " + input.sandbox.name_space + "/" +
                                              input.sandbox.name + ": " + std::string(sentence),
                                          retry});
}

std::expected<RoleOfContainer, ContainerRefusal> role_of(const ContainerInput& input,
                                                         const NodeInput& node) {
  const std::string problem = reservation_problem(input, node);
  if (problem.empty()) {
    const model::ReservedContainer* reserved = find_reserved(input);
    if (reserved != nullptr && !reserved->devices().empty()) {
      return RoleOfContainer{ContainerRole::kReserved, reserved};
    }
  }
  return role_without_devices(input, node, problem);
}

std::expected<void, ContainerRefusal> check_requests(const ContainerInput& input,
                                                     const RoleOfContainer& role,
                                                     const NodeInput& node) {
  if (role.role == ContainerRole::kExempt) return {};
  if (const std::string* key = asking_annotation(input.sandbox)) {
    return refuse(input, "the annotation " + in_quotes(*key) + " of its pod " +
                             std::string(kAsksByCdi) +
                             "; GPUs are given only by reservations and device plug-ins");
  }
  // Variables, mounts and devices of a container with limits are from its device plug-in.
  if (role.role == ContainerRole::kKubeletAssigned && !role.by_claims) return {};
  if (const MountView* mount = asking_mount(input.container.mounts)) {
    return refuse(input, "its mount at " + in_quotes(mount->destination) +
                             " asks NVIDIA's runtime for GPUs; remove the mount");
  }
  if (role.by_claims) return {};  // its CDI devices and their nodes are from drivers of DRA
  const PodContainerView* shown = find_container(input);
  if (const std::string* device = gpu_device(input.container.cdi_devices)) {
    return refuse(input,
                  "the kubelet gives it the CDI device " + in_quotes(*device) +
                      ", but it has no limit of nvidia.com/gpu or nvidia.com/mig-* and no claim",
                  shown == nullptr);
  }
  const DeviceNodeView* device = gpu_node(input.container.devices, node.files);
  if (device != nullptr && (shown == nullptr || !shown->privileged)) {
    return refuse(input,
                  "it has the device node " + in_quotes(device->path) +
                      ", but neither a reservation nor a device plug-in of NVIDIA gives it",
                  shown == nullptr);
  }
  return {};
}

MpsClient mps_client(const ContainerInput& input, const model::ReservedContainer& reserved,
                     const NodeInput& node) {
  return {mps::namespace_of(input.sandbox.uid, reserved.name), node.daemons};
}

std::expected<ShareAdditions, ContainerRefusal> additions_of(
    const ContainerInput& input, const model::ReservedContainer& reserved, const NodeInput& node) {
  const ShareSettings none;
  auto additions = share_additions(reserved.devices(), node.devices,
                                   node.shares == nullptr ? none : *node.shares,
                                   mps_client(input, reserved, node));
  if (!additions) return refuse(input, additions.error());
  write_places_like(input.container.mounts, *additions);
  if (const MountView* mount = mount_in_the_way(input.container.mounts, *additions)) {
    return refuse(input, "its mount at " + in_quotes(mount->destination) +
                             " is where snug-agent mounts what limits its share of a GPU; "
                             "mount it elsewhere");
  }
  return *std::move(additions);
}

bool keeps_variable(const RoleOfContainer& role, const ContainerView& container) {
  return role.role == ContainerRole::kKubeletAssigned && !role.by_claims &&
         gpu_device(container.cdi_devices) == nullptr && may_ask_for_gpus(container.env) &&
         variable(container.env, kVisibleDevices) != "all";
}

}  // namespace snug::agent
