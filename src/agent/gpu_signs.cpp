#include "agent/gpu_signs.hpp"

#include <algorithm>

#include "snug/agent/cdi_spec.hpp"

namespace snug::agent {
namespace {

// NVIDIA's container toolkit takes GPUs from mounts whose path begins so, if it is configured to.
constexpr std::string_view kDeviceMounts = "/run/nvidia-container-devices";
constexpr std::int64_t kNvidiaMajor = 195;  // assigned to NVIDIA by the kernel

/// Whether the driver's nodes on this host have the major number: those of nvidia-uvm and
/// nvidia-caps differ between hosts.
bool is_driver_major(std::int64_t major, const DriverFiles& files) {
  const auto has_major = [major](const DriverNode& node) { return node.major == major; };
  return major == kNvidiaMajor || std::ranges::any_of(files.control_nodes, has_major) ||
         std::ranges::any_of(files.gpu_nodes, has_major) ||
         std::ranges::any_of(files.capability_nodes, has_major, &CapabilityNode::node);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool names_gpu(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (is_gpu_device(trimmed(list.substr(0, comma)))) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

}  // namespace

std::string plain_path(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      plain.resize(plain.empty() ? 0 : plain.rfind('/'));
    } else {
      plain += '/';
      plain += part;
    }
  }
  if (is_in(plain, "/var/run")) plain.erase(0, 4);
  return plain.empty() ? "/" : plain;
}

bool is_in(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::optional<std::string_view> value_of(std::string_view entry, std::string_view name) {
  if (entry.size() <= name.size() || !entry.starts_with(name) || entry[name.size()] != '=')
    return std::nullopt;
  return entry.substr(name.size() + 1);
}

std::optional<std::string_view> variable(const std::vector<std::string>& env,
                                         std::string_view name) {
  std::optional<std::string_view> last;
  for (const std::string_view entry : env) {
    if (const auto value = value_of(entry, name)) last = value;
  }
  return last;
}

bool asks_for_gpus(std::string_view value) {
  return !value.empty() && value != kNoDevices && value != "none";
}

bool may_ask_for_gpus(const std::vector<std::string>& env) {
  return std::ranges::any_of(env, [](std::string_view entry) {
    const auto value = value_of(entry, kVisibleDevices);
    return value && asks_for_gpus(*value);
  });
}

bool is_gpu_device(std::string_view qualified_name) {
  const std::string_view kind = qualified_name.substr(0, qualified_name.find('='));
  const std::string_view vendor = kind.substr(0, kind.find('/'));
  return vendor == "nvidia.com" || vendor.ends_with(".nvidia.com") || kind == kCdiKind;
}

const std::string* gpu_device(const std::vector<std::string>& cdi_devices, std::string_view own) {
  const auto found = std::ranges::find_if(cdi_devices, [own](const std::string& name) {
    return is_gpu_device(name) && (own.empty() || name != own);
  });
  return found == cdi_devices.end() ? nullptr : &*found;
}

const MountView* asking_mount(const std::vector<MountView>& mounts) {
  const auto found = std::ranges::find_if(mounts, [](const MountView& mount) {
    return plain_path(mount.destination).starts_with(kDeviceMounts);
  });
  return found == mounts.end() ? nullptr : &*found;
}

bool is_gpu_node(const DeviceNodeView& node, const DriverFiles& files) {
  if (plain_path(node.path).starts_with("/dev/nvidia")) return true;
  return node.type != "b" && is_driver_major(node.major, files);
}

bool is_same_node(const DeviceNodeView& node, const DriverNode& other) {
  return node.path == other.path && node.major == other.major && node.minor == other.minor;
}

const DeviceNodeView* gpu_node(const std::vector<DeviceNodeView>& nodes, const DriverFiles& files,
                               std::span<const DriverNode> allowed) {
  const auto is_allowed = [allowed](const DeviceNodeView& node) {
    return std::ranges::any_of(allowed,
                               [&node](const DriverNode& own) { return is_same_node(node, own); });
  };
  const auto found = std::ranges::find_if(nodes, [&](const DeviceNodeView& node) {
    return is_gpu_node(node, files) && !is_allowed(node);
  });
  return found == nodes.end() ? nullptr : &*found;
}

const std::string* asking_annotation(const SandboxView& sandbox) {
  for (const auto& [key, value] : sandbox.annotations) {
    const std::string_view domain = std::string_view(key).substr(0, key.find('/'));
    if (domain != "cdi.k8s.io" && !domain.ends_with(".cdi.k8s.io")) continue;
    if (names_gpu(value)) return &key;
  }
  return nullptr;
}

bool shows_gpu(const ContainerView& container, const DriverFiles& files) {
  return may_ask_for_gpus(container.env) || gpu_device(container.cdi_devices) != nullptr ||
         gpu_node(container.devices, files) != nullptr;
}

}  // namespace snug::agent
