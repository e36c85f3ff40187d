#include "snug/agent/container_audit.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/container_role.hpp"
#include "agent/gpu_signs.hpp"
#include "agent/reserved_devices.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

struct ReachingPath {
  std::string_view path;
  bool with_files_below;
};

// Folders of the host by which a container can reach every GPU: device nodes, other processes, and
// the sockets and folders that the container runtime obeys.
constexpr std::array kReachingPaths = {
    ReachingPath{"/", false},        ReachingPath{"/dev", false},
    ReachingPath{"/proc", false},    ReachingPath{"/run", false},
    ReachingPath{"/etc", false},     ReachingPath{"/run/containerd", true},
    ReachingPath{"/run/crio", true}, ReachingPath{"/run/nri", true},
    ReachingPath{"/run/cdi", true},  ReachingPath{"/etc/cdi", true},
    ReachingPath{"/opt/nri", true},  ReachingPath{"/var/lib/kubelet/device-plugins", true},
};

bool reaches_gpus(std::string_view host_path) {
  const std::string path = plain_path(host_path);
  if (path.starts_with("/dev/nvidia")) return true;
  return std::ranges::any_of(kReachingPaths, [&path](const ReachingPath& row) {
    return path == row.path ||
           (row.with_files_below && path.starts_with(std::string(row.path) + "/"));
  });
}

/// Why the container can reach every GPU whatever it was given; empty: it cannot.
std::string outside_guarantee(const ContainerInput& input) {
  const PodContainerView* shown = find_container(input);
  if (shown != nullptr && shown->privileged) return "it is privileged, and so can use every GPU";
  if (input.pod == nullptr) return {};
  const auto found = std::ranges::find_if(input.pod->host_paths, reaches_gpus);
  if (found == input.pod->host_paths.end()) return {};
  return "its pod mounts " + in_quotes(*found) + " of the host, and so can reach every GPU";
}

/// The nodes that a container of the role may have; nullopt: unknown, since a reserved device has
/// vanished or a driver of DRA gives the devices.
std::optional<std::vector<DriverNode>> own_nodes(const RoleOfContainer& role,
                                                 const NodeInput& node) {
  if (role.by_claims) return std::nullopt;
  if (role.reserved == nullptr) return std::vector<DriverNode>();
  auto nodes = reserved_nodes(role.reserved->devices(), node);
  if (!nodes) return std::nullopt;
  return *std::move(nodes);
}

std::string foreign_gpu(const ContainerInput& input, const RoleOfContainer& role,
                        const NodeInput& node) {
  if (role.role == ContainerRole::kKubeletAssigned && !role.by_claims) return {};
  const std::string gives = role.by_claims ? "which its claims do not give"
                            : role.role == ContainerRole::kReserved
                                ? "which its reservation does not have"
                                : "although it has no reservation";
  if (const auto own = own_nodes(role, node)) {
    if (const DeviceNodeView* device = gpu_node(input.container.devices, node.files, *own)) {
      return "it has the device node " + in_quotes(device->path) + ", " + gives;
    }
  }
  if (const auto value = asking_variable(input.container.env)) {
    return "it was created with NVIDIA_VISIBLE_DEVICES=" + in_quotes(*value) +
           ", so NVIDIA's runtime may have given it GPUs, " + gives;
  }
  return {};
}

std::optional<std::pair<AuditKind, std::string>> find_problem(const ContainerInput& input,
                                                              const NodeInput& node) {
  const auto role = role_of(input, node);
  if (role && role->role == ContainerRole::kExempt) return std::nullopt;
  if (std::string reason = outside_guarantee(input); !reason.empty()) {
    return std::pair(AuditKind::kOutsideGuarantee, refuse(input, reason).error().sentence);
  }
  if (!role) {
    if (role.error().retry || !shows_gpu(input.container, node.files)) return std::nullopt;
    return std::pair(AuditKind::kForeignGpu, role.error().sentence);
  }
  const std::string reason = foreign_gpu(input, *role, node);
  if (reason.empty()) return std::nullopt;
  return std::pair(AuditKind::kForeignGpu, refuse(input, reason).error().sentence);
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
          {problem->first, input.sandbox.id, input.container.id, std::move(problem->second)});
    }
  }
  return findings;
}

}  // namespace snug::agent
