#include <algorithm>

#include "agent/container_role.hpp"
#include "agent/gpu_signs.hpp"
#include "snug/agent/container_decision.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

/// Whether NVIDIA_VISIBLE_DEVICES is `void` after all adjustments. NRI marks the removal of a
/// variable by a dash before its name.
bool leaves_void(const Adjustment& all) {
  bool is_void = false;
  for (const auto& [name, value] : all.env) {
    if (name == "-" + std::string(kVisibleDevices)) return false;
    if (name != kVisibleDevices) continue;
    if (value != kNoDevices) return false;
    is_void = true;
  }
  return is_void;
}

/// What plug-ins may add to a container with any role but exempt.
std::expected<void, ContainerRefusal> check_additions(const ContainerInput& input,
                                                      const Adjustment& all, const NodeInput& node,
                                                      std::string_view own) {
  if (const std::string* device = gpu_device(all.cdi_devices, own)) {
    return refuse(input, "another NRI plug-in gives it the CDI device " + in_quotes(*device) +
                             "; GPUs are given only by reservations and device plug-ins");
  }
  if (const MountView* mount = asking_mount(all.mounts)) {
    return refuse(input, "another NRI plug-in adds a mount at " + in_quotes(mount->destination) +
                             ", which asks NVIDIA's runtime for GPUs");
  }
  const PodContainerView* shown = find_container(input);
  const DeviceNodeView* device = gpu_node(all.devices, node.files);
  if (device != nullptr && (shown == nullptr || !shown->privileged)) {
    return refuse(input, "another NRI plug-in gives it the device node " + in_quotes(device->path) +
                             "; GPUs are given only by reservations and device plug-ins");
  }
  return {};
}

}  // namespace

std::expected<void, ContainerRefusal> validate_container(const ContainerInput& input,
                                                         const Adjustment& all,
                                                         const NodeInput& node) {
  const auto role = role_of(input, node);
  if (!role) return std::unexpected(role.error());
  if (role->role == ContainerRole::kExempt) return {};
  const std::string own = own_device(input, *role);
  auto checked = check_requests(input, *role, node);
  if (checked) checked = check_additions(input, all, node, own);
  if (!checked) return checked;
  if (keeps_variable(*role, input.container)) {
    const bool changes = std::ranges::any_of(all.env, [](const auto& change) {
      return change.first == kVisibleDevices || change.first == "-" + std::string(kVisibleDevices);
    });
    if (!changes) return {};
    return refuse(input,
                  "another NRI plug-in changes NVIDIA_VISIBLE_DEVICES, which replaces the "
                  "GPUs that the kubelet assigned");
  }
  if (!leaves_void(all)) {
    return refuse(input,
                  "another NRI plug-in changes NVIDIA_VISIBLE_DEVICES; snug-agent sets it "
                  "to `void`");
  }
  if (!own.empty() && std::ranges::find(all.cdi_devices, own) == all.cdi_devices.end()) {
    return refuse(
        input, "its CDI device " + in_quotes(own) + " is missing; another NRI plug-in removed it");
  }
  if (role->reserved != nullptr) {
    const auto additions = additions_of(input, *role->reserved, node);
    if (!additions) return std::unexpected(additions.error());
    if (const std::string missing = missing_addition(all, *additions); !missing.empty()) {
      return refuse(input, in_quotes(missing) +
                               ", which limits its share of a GPU, is missing or changed; another "
                               "NRI plug-in did that");
    }
  }
  return {};
}

}  // namespace snug::agent
