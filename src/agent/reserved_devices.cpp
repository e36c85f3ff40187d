#include "agent/reserved_devices.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "snug/agent/reserved_slices.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

std::unexpected<ContainerRefusal> not_there(std::string sentence) {
  return std::unexpected(ContainerRefusal{std::move(sentence), true});
}

std::string reserved_name(const model::ReservedDevice& device) {
  if (device.uuid.empty()) return "the GPU with the index " + std::to_string(device.index);
  return "the GPU " + in_quotes(device.uuid);
}

std::expected<const DeviceReport*, ContainerRefusal> find_gpu(const model::ReservedDevice& device,
                                                              const NodeDevices& devices) {
  if (const DeviceReport* found = reserved_gpu(devices, device.index, device.uuid)) return found;
  std::string sentence = reserved_name(device) + " is reserved, but does not exist on this node";
  const auto with_index = std::ranges::find(devices.gpus, device.index, &DeviceReport::index);
  if (devices.gpus.empty()) {
    sentence += "; the driver reports no GPUs";
  } else if (!device.uuid.empty() && with_index != devices.gpus.end()) {
    sentence += "; the GPU with the index " + std::to_string(device.index) + " is now " +
                in_quotes(with_index->uuid);
  }
  return not_there(std::move(sentence));
}

std::expected<const MigSliceReport*, ContainerRefusal> find_slice(const model::Slice& slice,
                                                                  const DeviceReport& gpu,
                                                                  const NodeInput& node) {
  if (const MigSliceReport* found = slice_at(gpu, slice.profile, slice.start)) return found;
  std::string sentence = slice_noun(slice.profile, slice.start, gpu.uuid);
  if (!node.makes_slices) return not_there(std::move(sentence) + " does not exist");
  sentence += " is not made yet";
  const auto failure = std::ranges::find_if(node.slice_failures, [&](const SliceFailure& one) {
    return one.gpu_uuid == gpu.uuid && one.start == slice.start &&
           is_same_profile(gpu, one.profile, slice.profile);
  });
  if (failure != node.slice_failures.end()) sentence += ": " + failure->sentence;
  return not_there(std::move(sentence));
}

/// The nodes of one container; `gpus` and `capabilities` are sorted by their minor number.
struct SortedNodes {
  std::vector<DriverNode> gpus;
  std::vector<DriverNode> capabilities;
};

void add_once(std::vector<DriverNode>& nodes, const DriverNode& node) {
  const auto place = std::ranges::lower_bound(nodes, node.minor, {}, &DriverNode::minor);
  if (place == nodes.end() || place->minor != node.minor) nodes.insert(place, node);
}

std::expected<void, ContainerRefusal> add_gpu(SortedNodes& nodes, const DeviceReport& gpu,
                                              const DriverFiles& files) {
  const std::string path = "/dev/nvidia" + std::to_string(gpu.minor);
  const auto found = std::ranges::find(files.gpu_nodes, path, &DriverNode::path);
  if (found == files.gpu_nodes.end()) {
    return not_there("the device node " + path + " of the GPU " + in_quotes(gpu.uuid) +
                     " does not exist on the host");
  }
  add_once(nodes.gpus, *found);
  return {};
}

std::expected<void, ContainerRefusal> add_slice(SortedNodes& nodes, const MigSliceReport& slice,
                                                const DeviceReport& gpu, const DriverFiles& files) {
  for (const int compute_instance : {-1, slice.compute_instance}) {
    const auto found =
        std::ranges::find_if(files.capability_nodes, [&](const CapabilityNode& node) {
          return node.gpu_minor == gpu.minor && node.gpu_instance == slice.gpu_instance &&
                 node.compute_instance == compute_instance;
        });
    if (found == files.capability_nodes.end()) {
      return not_there("the driver has no capability for the slice " + in_quotes(slice.uuid) +
                       " in /proc/driver/nvidia/capabilities/gpu" + std::to_string(gpu.minor) +
                       "/mig/gi" + std::to_string(slice.gpu_instance));
    }
    add_once(nodes.capabilities, found->node);
  }
  return {};
}

/// The control node without which no program can use a GPU; empty: both exist. The driver makes
/// them when it is first used.
std::string_view missing_control_node(const DriverFiles& files) {
  for (const std::string_view path : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    if (std::ranges::find(files.control_nodes, path, &DriverNode::path) ==
        files.control_nodes.end()) {
      return path;
    }
  }
  return {};
}

std::expected<void, ContainerRefusal> add_device(SortedNodes& nodes,
                                                 const model::ReservedDevice& device,
                                                 const NodeInput& node) {
  const auto gpu = find_gpu(device, node.devices);
  if (!gpu) return std::unexpected(gpu.error());
  if (!device.slice) {
    if ((*gpu)->mig_enabled) {
      return not_there(reserved_name(device) +
                       " is reserved without a slice, but is in MIG mode, in which only slices "
                       "can be used");
    }
    return add_gpu(nodes, **gpu, node.files);
  }
  const auto slice = find_slice(*device.slice, **gpu, node);
  if (!slice) return std::unexpected(slice.error());
  const auto added = add_gpu(nodes, **gpu, node.files);
  if (!added) return added;
  return add_slice(nodes, **slice, **gpu, node.files);
}

}  // namespace

std::expected<std::vector<DriverNode>, ContainerRefusal> reserved_nodes(
    std::span<const model::ReservedDevice> devices, const NodeInput& node) {
  SortedNodes nodes;
  for (const model::ReservedDevice& device : devices) {
    const auto added = add_device(nodes, device, node);
    if (!added) return std::unexpected(added.error());
  }
  if (const std::string_view path = missing_control_node(node.files); !path.empty()) {
    return not_there("the device node " + std::string(path) + " does not exist on the host");
  }
  std::vector<DriverNode> all = std::move(nodes.gpus);
  all.insert(all.end(), node.files.control_nodes.begin(), node.files.control_nodes.end());
  all.insert(all.end(), nodes.capabilities.begin(), nodes.capabilities.end());
  return all;
}

bool has_all_nodes(const NodeDevices& devices, const DriverFiles& files) {
  SortedNodes nodes;
  const auto has_nodes = [&](const DeviceReport& gpu) {
    return add_gpu(nodes, gpu, files) &&
           std::ranges::all_of(gpu.mig_slices, [&](const MigSliceReport& slice) {
             return add_slice(nodes, slice, gpu, files).has_value();
           });
  };
  return missing_control_node(files).empty() && std::ranges::all_of(devices.gpus, has_nodes);
}

}  // namespace snug::agent
