// How snug-agent and snug-mps talk: by files in a folder of the host that both mount. A file is
// written atomically, by renaming. Plain data and pure functions.
//
//   <root>/wanted/<uuid>         made by the agent while a pod needs the daemon of the GPU; only
//                                regular files count. It has a line for each namespace that the
//                                agent wants of a daemon with the protocol 3: its name, and, if its
//                                clients are limited, MiB of memory and percent of threads
//   <root>/state/<uuid>          written by snug-mps when it changes, and each mps_state_ms: a word
//                                of kDaemonPhaseNames; if the daemon failed, a blank and a sentence
//                                for people follow. Older than mps_state_stale_ms: snug-mps is
//                                away. For a ready daemon with the protocol 3 these lines follow:
//                                `protocol 3`, so that an earlier agent does not read this as a
//                                state; the name of each wanted namespace that exists; and the name
//                                of each that cannot be made, with a blank and a sentence
//   <root>/<uuid>/pipe           the daemon's pipe folder, mounted into containers
//   <root>/<uuid>/pipe/snug/<namespace>  the folder of a namespace, mounted instead (protocol 3)
//   <root>/<uuid>/log            the daemon's logs
//   <root>/shm                   the shared memory of all daemons, which containers have as
//                                /dev/shm
//
// The root is where NVIDIA's device plug-in has the folders of its own daemons, one for each
// resource.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/enum_names.hpp"
#include "snug/base/units.hpp"

namespace snug::mps {

inline constexpr std::string_view kDefaultRoot = "/run/nvidia/mps";
inline constexpr std::string_view kWantedFolder = "wanted";
inline constexpr std::string_view kStateFolder = "state";
inline constexpr std::string_view kPipeFolder = "pipe";
inline constexpr std::string_view kLogFolder = "log";
inline constexpr std::string_view kSharedMemoryFolder = "shm";
/// Of the one MPS server of a daemon with the protocol 3.
inline constexpr std::string_view kServerName = "snug";

enum class DaemonPhase : std::uint8_t {
  kStarting,
  kReady,   // clients can connect
  kFailed,  // snug-mps tries again
};

inline constexpr base::EnumNames kDaemonPhaseNames{std::array{
    base::EnumName{DaemonPhase::kStarting, "starting"},
    base::EnumName{DaemonPhase::kReady, "ready"}, base::EnumName{DaemonPhase::kFailed, "failed"}}};

/// What the clients in a namespace can use at most: each process, not all of them together.
struct NamespaceLimits {
  base::MebiBytes memory;
  std::int64_t thread_percent = 100;  // 1 to 100

  friend bool operator==(const NamespaceLimits&, const NamespaceLimits&) = default;
};

/// The namespaces that one daemon should have, by their names. Nullopt: without limits.
using Namespaces = std::map<std::string, std::optional<NamespaceLimits>, std::less<>>;

/// The daemons that a node should run, by the uuids of their GPUs.
using WantedDaemons = std::map<std::string, Namespaces, std::less<>>;

/// Namespaces by their names, each with the reason why it cannot be made; empty: it exists.
using NamespaceStates = std::map<std::string, std::string, std::less<>>;

struct DaemonState {
  DaemonPhase phase = DaemonPhase::kStarting;
  std::string reason;  // why it failed
  /// With the protocol 3, while the daemon is ready: the wanted namespaces that exist, and those
  /// that cannot be made. Nullopt: clients use the pipe folder of the daemon.
  std::optional<NamespaceStates> namespaces = std::nullopt;

  friend bool operator==(const DaemonState&, const DaemonState&) = default;
};

/// The longest name of a GPU in the folder: GPU-01234567-89ab-cdef-0123-456789abcdef
inline constexpr std::size_t kMaxGpuNameBytes = 40;
/// The longest root: so the path of a namespace's socket has at most 107 bytes, as Linux demands.
inline constexpr std::size_t kMaxRootBytes = 35;

/// Whether it is the uuid of a GPU, and so may be a file name in these folders: `GPU-` with
/// letters, digits and hyphens after it.
[[nodiscard]] bool is_gpu_uuid(std::string_view name);
/// The name of the namespace of a container: 12 hexadecimal digits, so that the path of its socket
/// is short enough.
[[nodiscard]] std::string namespace_of(std::string_view pod_uid, std::string_view container);
/// Whether it has the form of namespace_of().
[[nodiscard]] bool is_namespace_name(std::string_view name);
/// The folder of a namespace in the pipe folder of its daemon: snug/<name>
[[nodiscard]] std::string namespace_folder(std::string_view name);
/// The content of a file in the folder wanted.
[[nodiscard]] std::string write_wanted(const Namespaces& namespaces);
/// What is no namespace is left out.
[[nodiscard]] Namespaces read_wanted(std::string_view text);
/// The content of a state file.
[[nodiscard]] std::string write_state(const DaemonState& state);
/// Nullopt: it is no such content.
[[nodiscard]] std::optional<DaemonState> read_state(std::string_view text);

}  // namespace snug::mps
