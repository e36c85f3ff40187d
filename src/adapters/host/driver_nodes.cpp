#include "adapters/host/driver_nodes.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <tuple>

#include "adapters/host/rooted_path.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kControlNodes[] = {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools",
                                              "nvidia-modeset"};

/// The names in the folder, sorted; empty if it cannot be read.
std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// N of a name that is `prefix` with the number N after it.
std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = base::parse_integer(name.substr(prefix.size()));
  if (!number || *number < 0 || *number > 1'000'000) return std::nullopt;
  return static_cast<int>(*number);
}

/// The node /dev/NAME; nullopt if it is no character device.
std::optional<agent::DriverNode> device_node(const HostPaths& paths, const std::string& name) {
  const std::string host_path = join(paths.dev_root, "dev/" + name);
  struct stat status{};
  if (::lstat(join(paths.host_root, host_path).c_str(), &status) != 0) return std::nullopt;
  if (!S_ISCHR(status.st_mode)) return std::nullopt;
  return agent::DriverNode{"/dev/" + name, host_path, major(status.st_rdev), minor(status.st_rdev)};
}

/// The major number of a driver of character devices, from /proc/devices.
std::optional<std::int64_t> find_major(std::string_view devices, std::string_view driver) {
  std::istringstream lines{std::string(devices)};
  for (std::string line; std::getline(lines, line) && line != "Block devices:";) {
    std::istringstream words(line);
    std::string number;
    std::string name;
    if (words >> number >> name && name == driver) return base::parse_integer(number);
  }
  return std::nullopt;
}

/// The minor number in a file `access` of the driver; nullopt if there is no such file.
std::optional<std::int64_t> capability_minor(const std::string& file) {
  const auto text = read_host_file(file);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  constexpr std::string_view kKey = "DeviceFileMinor: ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kKey)) return base::parse_integer(line.substr(kKey.size()));
  }
  return std::nullopt;
}

/// Adds the capabilities of all slices of one GPU. `folder`: …/capabilities/gpuN/mig.
void add_capabilities(std::vector<agent::CapabilityNode>& nodes, const std::string& folder,
                      int gpu_minor, std::int64_t caps_major) {
  const auto add = [&](const std::string& file, int gpu_instance, int compute_instance) {
    const auto minor_number = capability_minor(file);
    if (!minor_number) return;
    const std::string path = "/dev/nvidia-caps/nvidia-cap" + std::to_string(*minor_number);
    nodes.push_back(
        {gpu_minor, gpu_instance, compute_instance, {path, path, caps_major, *minor_number}});
  };
  for (const std::string& name : names_in(folder)) {
    const auto gpu_instance = number_after(name, "gi");
    if (!gpu_instance) continue;
    const std::string instance = join(folder, name);
    add(join(instance, "access"), *gpu_instance, -1);
    for (const std::string& inner : names_in(instance)) {
      const auto compute_instance = number_after(inner, "ci");
      if (compute_instance)
        add(join(instance, inner + "/access"), *gpu_instance, *compute_instance);
    }
  }
}

}  // namespace

base::Result<std::string> read_host_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::fail(base::ErrorCode::kUnavailable,
                      path + ": cannot be read: " + std::strerror(errno));
  }
  std::string text(static_cast<std::size_t>(base::agent_limits::max_host_file_bytes) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (static_cast<std::int64_t>(text.size()) > base::agent_limits::max_host_file_bytes) {
    return base::fail(base::ErrorCode::kTooLarge,
                      path + ": has more than " +
                          std::to_string(base::agent_limits::max_host_file_bytes) + " bytes");
  }
  return text;
}

base::Result<void> find_driver_nodes(agent::DriverFiles& files, const HostPaths& paths) {
  const std::string dev = join(paths.host_root, join(paths.dev_root, "dev"));
  for (const std::string& name : names_in(dev)) {
    if (!number_after(name, "nvidia")) continue;
    if (auto node = device_node(paths, name)) files.gpu_nodes.push_back(*std::move(node));
  }
  std::ranges::sort(files.gpu_nodes, {}, &agent::DriverNode::minor);
  for (const std::string_view name : kControlNodes) {
    if (auto node = device_node(paths, std::string(name))) {
      files.control_nodes.push_back(*std::move(node));
    }
  }
  const std::string capabilities = join(paths.proc_root, "proc/driver/nvidia/capabilities");
  const std::vector<std::string> gpus = names_in(capabilities);
  if (gpus.empty()) return {};
  const auto devices = read_host_file(join(paths.proc_root, "proc/devices"));
  if (!devices) return std::unexpected(devices.error());
  const auto caps_major = find_major(*devices, "nvidia-caps");
  if (!caps_major) return {};
  for (const std::string& name : gpus) {
    const auto gpu_minor = number_after(name, "gpu");
    if (!gpu_minor) continue;
    add_capabilities(files.capability_nodes, join(capabilities, name + "/mig"), *gpu_minor,
                     *caps_major);
  }
  std::ranges::sort(files.capability_nodes, {}, [](const agent::CapabilityNode& node) {
    return std::tuple(node.gpu_minor, node.gpu_instance, node.compute_instance);
  });
  return {};
}

}  // namespace snug::host
