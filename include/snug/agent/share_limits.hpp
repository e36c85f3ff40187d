// What a container with shares of GPUs gets in addition to its devices, so that it stays within its
// shares: variables and mounts when it is created, or limits of the driver when it starts
// (docs/decisions/0034-slices-daemons-and-limits.md). Pure; thread-safe.
//
// Shares in the mode mps are clients of the MPS daemon of their GPU, whatever the node's enforcer
// is. CUDA uses one daemon, and there is one for each GPU: a container with a share in the mode mps
// can have no other device. If the daemon has namespaces, the container sees only its own
// (docs/decisions/0039-mps-namespaces.md).
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "snug/agent/container_view.hpp"
#include "snug/agent/device_report.hpp"
#include "snug/base/units.hpp"
#include "snug/model/reservation.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::agent {

/// How the node serves and limits shares. Paths are those of the host.
struct ShareSettings {
  model::ShareLimits limits = model::ShareLimits::kNone;
  bool allows_mps = false;
  std::string mps_root{mps::kDefaultRoot};
  std::string hami_core;  // the folder with libvgpu.so and ld.so.preload; only with kHamiCore

  friend bool operator==(const ShareSettings&, const ShareSettings&) = default;
};

/// What is known about the MPS daemons of the node.
struct MpsDaemons {
  std::map<std::string, mps::DaemonState, std::less<>> states;  // by the uuid of the GPU
  std::string problem;  // why the states cannot be read; empty: they can

  friend bool operator==(const MpsDaemons&, const MpsDaemons&) = default;
};

struct ShareAdditions {
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<MountView> mounts;

  friend bool operator==(const ShareAdditions&, const ShareAdditions&) = default;
};

/// How a container reaches its MPS daemon.
struct MpsClient {
  std::string mps_namespace;            // mps::namespace_of() the container
  const MpsDaemons* daemons = nullptr;  // null: as if none had namespaces
};

/// The limits of a namespace for the share; nullopt: the node does not limit shares by MPS.
[[nodiscard]] std::optional<mps::NamespaceLimits> namespace_limits(
    const model::ReservedDevice& reserved, model::ShareLimits enforcer);

/// The error is a sentence without the container's name. GPUs that the driver does not report are
/// left out.
[[nodiscard]] std::expected<ShareAdditions, std::string> share_additions(
    std::span<const model::ReservedDevice> reserved, const NodeDevices& devices,
    const ShareSettings& settings, const MpsClient& client);

/// Writes the destinations of the additions as the container's own mounts at these places have
/// them, which may end with slashes: the runtime replaces a mount only if its destination is
/// written in the same way.
void write_places_like(const std::vector<MountView>& mounts, ShareAdditions& additions);

/// A mount of the container that would hide a part of the additions, or that the additions do not
/// replace although it is at the same place; null: there is none.
[[nodiscard]] const MountView* mount_in_the_way(const std::vector<MountView>& mounts,
                                                const ShareAdditions& additions);

/// The name of a variable or the destination of a mount among the additions that is missing or
/// changed in `all`, what all plug-ins together do; empty: there is none.
[[nodiscard]] std::string missing_addition(const Adjustment& all, const ShareAdditions& additions);

/// Why the MPS daemon of a reserved GPU cannot serve the container yet; empty: it can, or none is
/// needed, or the client has no daemons.
[[nodiscard]] std::string daemon_problem(std::span<const model::ReservedDevice> reserved,
                                         const NodeDevices& devices, const MpsClient& client);

/// A limit that the driver is to hold.
struct MemoryLimit {
  std::string gpu_uuid;
  base::MebiBytes memory;

  friend bool operator==(const MemoryLimit&, const MemoryLimit&) = default;
};

/// The limits of the shares among the devices, one for each GPU.
[[nodiscard]] std::vector<MemoryLimit> memory_limits(
    std::span<const model::ReservedDevice> reserved, const NodeDevices& devices);

}  // namespace snug::agent
