#include "snug/agent/share_limits.hpp"

#include <algorithm>
#include <string_view>

#include "agent/gpu_signs.hpp"
#include "snug/agent/container_terms.hpp"
#include "snug/agent/reserved_slices.hpp"
#include "snug/base/text.hpp"

namespace snug::agent {
namespace {

using base::in_quotes;

// Where CUDA looks without CUDA_MPS_PIPE_DIRECTORY: a process without the variable finds it too.
constexpr std::string_view kDefaultPipe = "/tmp/nvidia-mps";
// The default of a daemon of root with the protocol 3.
constexpr std::string_view kDefaultPipeOfRoot = "/run/nvidia-mps";
constexpr std::string_view kSharedMemoryInContainer = "/dev/shm";
constexpr std::string_view kHamiLibrary = "libvgpu.so";
constexpr std::string_view kHamiPreload = "ld.so.preload";
// The path that HAMi's ld.so.preload names.
constexpr std::string_view kHamiInContainer = "/usr/local/vgpu/libvgpu.so";
// HAMi-core keeps its lock here; a folder for each container also holds what its processes share.
constexpr std::string_view kHamiState = "/tmp/vgpulock";

/// A reserved device and the GPU that the driver reports for it.
struct Share {
  const model::ReservedDevice* reserved = nullptr;
  const DeviceReport* gpu = nullptr;
};

/// In the order of the devices' numbers in the container, which is that of the PCI bus.
std::vector<Share> shares_of(std::span<const model::ReservedDevice> reserved,
                             const NodeDevices& devices) {
  std::vector<Share> shares;
  for (const model::ReservedDevice& device : reserved) {
    if (const DeviceReport* gpu = reserved_gpu(devices, device.index, device.uuid))
      shares.push_back({&device, gpu});
  }
  std::ranges::sort(shares, {},
                    [](const Share& share) { return std::pair(share.gpu->index, share.reserved); });
  return shares;
}

MountView bind_mount(std::string source, std::string_view destination, std::string_view access) {
  return {.source = std::move(source),
          .destination = std::string(destination),
          .type = "bind",
          .options = {"rbind", std::string(access), "nosuid", "nodev"}};
}

std::string below(std::string_view folder, std::string_view name) {
  return std::string(folder).append("/").append(name);
}

/// Null: there is no state of the GPU's daemon.
const mps::DaemonState* state_of(const Share& share, const MpsClient& client) {
  if (client.daemons == nullptr) return nullptr;
  const auto state = client.daemons->states.find(share.gpu->uuid);
  return state == client.daemons->states.end() ? nullptr : &state->second;
}

ShareAdditions mps_additions(const Share& share, const ShareSettings& settings,
                             const MpsClient& client) {
  ShareAdditions additions;
  const mps::DaemonState* state = state_of(share, client);
  const bool has_namespaces = state != nullptr && state->namespaces.has_value();
  // The same path as in the daemon, as NVIDIA demands of the variable.
  std::string pipe = below(below(settings.mps_root, share.gpu->uuid), mps::kPipeFolder);
  if (has_namespaces) pipe = below(pipe, mps::namespace_folder(client.mps_namespace));
  additions.mounts = {bind_mount(pipe, pipe, "rw"), bind_mount(pipe, kDefaultPipe, "rw"),
                      bind_mount(below(settings.mps_root, mps::kSharedMemoryFolder),
                                 kSharedMemoryInContainer, "rw")};
  if (has_namespaces) additions.mounts.push_back(bind_mount(pipe, kDefaultPipeOfRoot, "rw"));
  additions.env.emplace_back("CUDA_MPS_PIPE_DIRECTORY", pipe);
  if (settings.limits == model::ShareLimits::kMps) {
    additions.env.push_back(mps_memory_limit(share.reserved->memory));
    additions.env.push_back(mps_compute_limit(share.reserved->compute));
  }
  return additions;
}

/// The variables are those of HAMi-core. It knows one limit of the compute for all GPUs.
ShareAdditions hami_additions(std::span<const Share> shares, const ShareSettings& settings) {
  ShareAdditions additions;
  base::MilliGpu least_compute = base::kWholeGpu;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const model::ReservedDevice& device = *shares[i].reserved;
    additions.env.push_back(hami_memory_limit(i, device.memory));
    least_compute = std::min(least_compute, device.compute);
  }
  additions.env.push_back(hami_compute_limit(least_compute));
  additions.env.emplace_back("CUDA_DEVICE_MEMORY_SHARED_CACHE", below(kHamiState, "cache"));
  additions.env.emplace_back("GPU_CORE_UTILIZATION_POLICY", "FORCE");
  additions.mounts = {
      bind_mount(below(settings.hami_core, kHamiLibrary), kHamiInContainer, "ro"),
      bind_mount(below(settings.hami_core, kHamiPreload), "/etc/ld.so.preload", "ro"),
      MountView{.source = "tmpfs",
                .destination = std::string(kHamiState),
                .type = "tmpfs",
                .options = {"rw", "nosuid", "nodev", "noexec", "mode=1777", "size=16m"}}};
  return additions;
}

std::string_view without_last_slashes(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool is_at_or_below(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

}  // namespace

std::expected<ShareAdditions, std::string> share_additions(
    std::span<const model::ReservedDevice> reserved, const NodeDevices& devices,
    const ShareSettings& settings, const MpsClient& client) {
  using enum model::GpuMode;
  const auto has_mode = [reserved](model::GpuMode mode) {
    return std::ranges::find(reserved, mode, &model::ReservedDevice::mode) != reserved.end();
  };
  const std::vector<Share> shares = shares_of(reserved, devices);
  if (has_mode(kMps)) {
    if (!settings.allows_mps) {
      return std::unexpected(
          "its GPU is reserved in the mode mps, but the flag --modes of snug-agent on this node "
          "does not have mps");
    }
    if (reserved.size() > 1) {
      return std::unexpected(
          "it has a share in the mode mps and further GPUs, but CUDA can use the MPS daemon of "
          "one GPU only; ask for gpu-isolation: time-slicing, or for one GPU for each container");
    }
    return shares.empty() ? ShareAdditions{} : mps_additions(shares.front(), settings, client);
  }
  if (settings.limits == model::ShareLimits::kHamiCore && has_mode(kTimeSlicing)) {
    return hami_additions(shares, settings);
  }
  return ShareAdditions{};
}

void write_places_like(const std::vector<MountView>& mounts, ShareAdditions& additions) {
  for (MountView& own : additions.mounts) {
    const auto is_same = [&own](const MountView& mount) {
      return without_last_slashes(mount.destination) == own.destination;
    };
    const auto same = std::ranges::find_if(mounts, is_same);
    if (same != mounts.end()) own.destination = same->destination;
  }
}

const MountView* mount_in_the_way(const std::vector<MountView>& mounts,
                                  const ShareAdditions& additions) {
  const auto hides = [&additions](const MountView& mount) {
    const std::string path = plain_path(mount.destination);
    return std::ranges::any_of(additions.mounts, [&](const MountView& own) {
      return mount.destination != own.destination &&
             is_at_or_below(path, plain_path(own.destination));
    });
  };
  const auto found = std::ranges::find_if(mounts, hides);
  return found == mounts.end() ? nullptr : &*found;
}

std::string missing_addition(const Adjustment& all, const ShareAdditions& additions) {
  for (const auto& variable : additions.env) {
    const bool changed = std::ranges::any_of(all.env, [&variable](const auto& change) {
      return change.first == "-" + variable.first ||
             (change.first == variable.first && change.second != variable.second);
    });
    if (changed || std::ranges::find(all.env, variable) == all.env.end()) return variable.first;
  }
  for (const MountView& mount : additions.mounts) {
    if (std::ranges::find(all.mounts, mount) == all.mounts.end()) return mount.destination;
  }
  const MountView* other = mount_in_the_way(all.mounts, additions);
  return other == nullptr ? std::string() : other->destination;
}

std::string daemon_problem(std::span<const model::ReservedDevice> reserved,
                           const NodeDevices& devices, const MpsClient& client) {
  if (client.daemons == nullptr) return {};
  for (const Share& share : shares_of(reserved, devices)) {
    if (share.reserved->mode != model::GpuMode::kMps) continue;
    const std::string daemon = "the MPS daemon of the GPU " + in_quotes(share.gpu->uuid);
    if (!client.daemons->problem.empty()) return daemon + " is unknown: " + client.daemons->problem;
    const mps::DaemonState* state = state_of(share, client);
    if (state == nullptr) {
      return daemon + " has not been started; if this lasts, snug-mps does not run on this node";
    }
    if (state->phase == mps::DaemonPhase::kStarting) return daemon + " is starting";
    if (state->phase == mps::DaemonPhase::kFailed) return daemon + " failed: " + state->reason;
    if (!state->namespaces) continue;
    const auto own = state->namespaces->find(client.mps_namespace);
    if (own == state->namespaces->end()) return daemon + " makes a namespace for the container";
    if (!own->second.empty())
      return daemon + " cannot make a namespace for the container: " + own->second;
  }
  return {};
}

std::optional<mps::NamespaceLimits> namespace_limits(const model::ReservedDevice& reserved,
                                                     model::ShareLimits enforcer) {
  if (enforcer != model::ShareLimits::kMps) return std::nullopt;
  return mps::NamespaceLimits{std::max(reserved.memory, base::MebiBytes{1}),
                              percent_of(reserved.compute)};
}

std::vector<MemoryLimit> memory_limits(std::span<const model::ReservedDevice> reserved,
                                       const NodeDevices& devices) {
  std::vector<MemoryLimit> limits;
  for (const Share& share : shares_of(reserved, devices)) {
    if (!model::is_sharing_mode(share.reserved->mode)) continue;
    const auto same = std::ranges::find(limits, share.gpu->uuid, &MemoryLimit::gpu_uuid);
    if (same == limits.end()) {
      limits.push_back({share.gpu->uuid, share.reserved->memory});
    } else {
      same->memory.value += share.reserved->memory.value;
    }
  }
  return limits;
}

}  // namespace snug::agent
