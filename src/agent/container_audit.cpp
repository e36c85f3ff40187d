#include "snug/agent/container_audit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/container_role.hpp"
#include "agent/gpu_signs.hpp"
#include "agent/reserved_devices.hpp"
#include "snug/agent/reserved_slices.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

// What of the host lets a container reach every GPU: device nodes, other processes, what the
// container runtime and the kubelet obey, tokens and file systems of other pods, programs that the
// host's root runs, and the lock of snug-gate.
constexpr std::array<std::string_view, 30> kReachingPaths = {
    "/bin",  // this, /lib, /lib64 and /sbin: links into /usr
    "/dev",
    "/lib",
    "/lib64",
    "/proc",
    "/run/containerd",
    "/run/crio",
    "/run/docker.sock",
    "/run/k3s",
    "/run/nri",
    "/run/cdi",
    "/run/snug",
    "/etc/cdi",
    "/etc/containerd",
    "/etc/cron.d",
    "/etc/crio",
    "/etc/kubernetes",
    "/etc/systemd",
    "/opt/nri",
    "/root",
    "/sbin",
    "/usr/bin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/local",
    "/usr/sbin",
    "/var/lib/containerd",
    "/var/lib/containers",
    "/var/lib/kubelet",
};

/// Whether it is one of them, or above or below one. Single nodes of /dev and files of /proc reach
/// no GPU, unless they are NVIDIA's.
bool reaches_gpus(std::string_view host_path) {
  const std::string path = plain_path(host_path);
  if (path.starts_with("/dev/nvidia")) return true;
  return std::ranges::any_of(kReachingPaths, [&path](std::string_view row) {
    return is_in(row, path) || (row != "/dev" && row != "/proc" && is_in(path, row));
  });
}

bool is_privileged(const ContainerInput& input) {
  const PodContainerView* shown = find_container(input);
  return shown != nullptr && shown->privileged;
}

/// By what an unprivileged container may reach every GPU; empty: by nothing.
std::string way_to_all_gpus(const ContainerInput& input) {
  if (input.pod == nullptr) return {};
  const PodContainerView* shown = find_container(input);
  if (shown != nullptr && !shown->host_capability.empty()) {
    return "it has the capability " + shown->host_capability + ", and so can reach every GPU";
  }
  const auto found = std::ranges::find_if(input.pod->host_paths, reaches_gpus);
  if (found == input.pod->host_paths.end()) return {};
  return "its pod mounts " + in_quotes(*found) + " of the host, and so can reach every GPU";
}

/// What is wrong with a container, without its name.
struct Problem {
  AuditKind kind = AuditKind::kForeignGpu;
  std::string sentence;
};

bool has_numbers(const DeviceNodeView& device, const DriverNode& node) {
  return device.major == node.major && device.minor == node.minor;
}

/// Whether the node is that of a GPU which exists, but is none of the reservation's.
bool opens_other_gpu(const DeviceNodeView& device, const model::ReservedContainer& reserved,
                     const NodeInput& node) {
  const auto is_its_node = [&](const DeviceReport& gpu) {
    const std::string path = "/dev/nvidia" + std::to_string(gpu.minor);
    const auto found = std::ranges::find(node.files.gpu_nodes, path, &DriverNode::path);
    return found != node.files.gpu_nodes.end() && has_numbers(device, *found);
  };
  const auto gpu = std::ranges::find_if(node.devices.gpus, is_its_node);
  return gpu != node.devices.gpus.end() &&
         std::ranges::none_of(reserved.devices(), [&](const model::ReservedDevice& own) {
           return reserved_gpu(node.devices, own.index, own.uuid) == &*gpu;
         });
}

/// Whether the node is that of a slice which exists, but at no place of the reservation.
bool opens_other_slice(const DeviceNodeView& device, const model::ReservedContainer& reserved,
                       const NodeInput& node) {
  for (const CapabilityNode& capability : node.files.capability_nodes) {
    if (!has_numbers(device, capability.node)) continue;
    const auto gpu =
        std::ranges::find(node.devices.gpus, capability.gpu_minor, &DeviceReport::minor);
    if (gpu == node.devices.gpus.end()) return false;
    const auto slice =
        std::ranges::find(gpu->mig_slices, capability.gpu_instance, &MigSliceReport::gpu_instance);
    if (slice == gpu->mig_slices.end()) return false;
    return std::ranges::none_of(reserved.devices(), [&](const model::ReservedDevice& own) {
      return own.slice && reserved_gpu(node.devices, own.index, own.uuid) == &*gpu &&
             slice_at(*gpu, own.slice->profile, own.slice->start) == &*slice;
    });
  }
  return false;
}

/// Whether the node is one of the driver's own that gives no GPU and is not there any more, like
/// /dev/nvidia-modeset after its module was unloaded.
bool is_gone_control_node(const DeviceNodeView& device, const DriverFiles& files) {
  const auto same_numbers = [&device](const DriverNode& node) { return has_numbers(device, node); };
  return device.path.starts_with("/dev/nvidia-") && !device.path.starts_with("/dev/nvidia-caps") &&
         std::ranges::find(files.control_nodes, device.path, &DriverNode::path) ==
             files.control_nodes.end() &&
         std::ranges::none_of(files.gpu_nodes, same_numbers) &&
         std::ranges::none_of(files.capability_nodes, same_numbers, &CapabilityNode::node);
}

const DeviceNodeView* node_of_others(const ContainerView& container,
                                     const std::vector<DriverNode>& own, const DriverFiles& files) {
  const auto found = std::ranges::find_if(container.devices, [&](const DeviceNodeView& device) {
    return is_gpu_node(device, files) && !is_gone_control_node(device, files) &&
           std::ranges::none_of(own,
                                [&](const DriverNode& node) { return is_same_node(device, node); });
  });
  return found == container.devices.end() ? nullptr : &*found;
}

/// Whether the container lacks a device node that its reservation gives now. A control node may
/// have come later, but then the container has nothing at its path.
bool lacks_own_node(const ContainerView& container, const std::vector<DriverNode>& own,
                    const DriverFiles& files) {
  return std::ranges::any_of(own, [&](const DriverNode& node) {
    const bool has_it = std::ranges::any_of(container.devices, [&](const DeviceNodeView& device) {
      return is_same_node(device, node);
    });
    const bool is_control =
        std::ranges::find(files.control_nodes, node) != files.control_nodes.end();
    return !has_it &&
           (!is_control || std::ranges::find(container.devices, node.path, &DeviceNodeView::path) !=
                               container.devices.end());
  });
}

std::optional<Problem> problem_of_reserved(const ContainerView& container,
                                           const model::ReservedContainer& reserved,
                                           const NodeInput& node) {
  const auto stale = [](const DeviceNodeView& device) {
    return Problem{AuditKind::kStaleDevices,
                   "it has the device node " + in_quotes(device.path) +
                       ", which its reservation no longer gives, because slices were re-created "
                       "or the driver was reloaded; restart the container"};
  };
  const auto own = reserved_nodes(reserved.devices(), node);
  if (!own) {
    const auto other = std::ranges::find_if(container.devices, [&](const DeviceNodeView& device) {
      return opens_other_gpu(device, reserved, node) || opens_other_slice(device, reserved, node);
    });
    if (other == container.devices.end()) return std::nullopt;
    return stale(*other);
  }
  const DeviceNodeView* device = node_of_others(container, *own, node.files);
  if (device == nullptr) return std::nullopt;
  if (lacks_own_node(container, *own, node.files)) return stale(*device);
  return Problem{AuditKind::kForeignGpu, "it has the device node " + in_quotes(device->path) +
                                             ", which its reservation does not have"};
}

std::optional<Problem> foreign_variable(const ContainerView& container, std::string_view gives,
                                        std::string_view own = {}) {
  // The last entry holds. Older runtimes keep what was before CDI changed it.
  const auto value = variable(container.env, kVisibleDevices);
  if (!value || *value == own || !asks_for_gpus(*value)) return std::nullopt;
  return Problem{AuditKind::kForeignGpu,
                 "it was created with NVIDIA_VISIBLE_DEVICES=" + in_quotes(*value) +
                     ", so NVIDIA's runtime may have given it GPUs, " + std::string(gives)};
}

std::optional<Problem> problem_of_role(const ContainerInput& input, const RoleOfContainer& role,
                                       const NodeInput& node) {
  if (role.by_claims) return foreign_variable(input.container, "which its claims do not give");
  if (role.role == ContainerRole::kKubeletAssigned) return std::nullopt;
  if (role.reserved != nullptr) {
    auto problem = problem_of_reserved(input.container, *role.reserved, node);
    return problem ? std::move(problem)
                   : foreign_variable(input.container, "which its reservation does not have",
                                      given_variable(input));
  }
  constexpr std::string_view kWithout = "although it has no reservation";
  if (const DeviceNodeView* device = gpu_node(input.container.devices, node.files)) {
    return Problem{AuditKind::kForeignGpu, "it has the device node " + in_quotes(device->path) +
                                               ", " + std::string(kWithout)};
  }
  return foreign_variable(input.container, kWithout);
}

/// With the container's name in the sentence.
std::optional<Problem> violation(const ContainerInput& input,
                                 const std::expected<RoleOfContainer, ContainerRefusal>& role,
                                 const NodeInput& node) {
  if (!role) {
    if (role.error().retry || !shows_gpu(input.container, node.files)) return std::nullopt;
    const PodContainerView* shown = find_container(input);
    // Its variable may well be what the kubelet assigned.
    if (shown != nullptr && shown->kubelet_assigned && !shown->sets_visible_devices)
      return std::nullopt;
    return Problem{AuditKind::kForeignGpu, role.error().sentence};
  }
  auto problem = problem_of_role(input, *role, node);
  if (problem) problem->sentence = refuse(input, problem->sentence).error().sentence;
  return problem;
}

/// A container that is privileged has all device nodes, so none of them says that it has GPUs of
/// others. A path of the host or a capability excuses nothing: whoever writes the pod can name one.
std::optional<Problem> find_problem(const ContainerInput& input, const NodeInput& node) {
  const auto role = role_of(input, node);
  if (role && role->role == ContainerRole::kExempt) return std::nullopt;
  std::string outside;
  if (is_privileged(input)) {
    outside = "it is privileged, and so can use every GPU";
  } else {
    if (auto problem = violation(input, role, node)) return problem;
    outside = way_to_all_gpus(input);
  }
  if (outside.empty()) return std::nullopt;
  return Problem{AuditKind::kOutsideGuarantee, refuse(input, outside).error().sentence};
}

bool may_be_running(ContainerState state) {
  return state == ContainerState::kCreated || state == ContainerState::kPaused ||
         state == ContainerState::kRunning;
}

}  // namespace

std::vector<AuditFinding> audit(std::span<const ContainerInput> containers, const NodeInput& node) {
  std::vector<AuditFinding> findings;
  for (const ContainerInput& input : containers) {
    if (!may_be_running(input.container.state)) continue;
    if (auto problem = find_problem(input, node)) {
      findings.push_back(
          {problem->kind, input.sandbox.id, input.container.id, std::move(problem->sentence)});
    }
  }
  return findings;
}

}  // namespace snug::agent
