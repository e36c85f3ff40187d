// A specification of the Container Device Interface (CDI) with one device, by which the container
// runtime gives one container its GPUs. Plain data; agent_codec/cdi_writer writes it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent/driver_files.hpp"

namespace snug::agent {

/// The kind of Snug's CDI devices. Their qualified names are `snug.dev/gpu=NAME`.
inline constexpr std::string_view kCdiKind = "snug.dev/gpu";
/// Files of Snug's CDI specifications begin with it.
inline constexpr std::string_view kCdiFilePrefix = "snug.dev-gpu_";

/// A file of the host that is mounted read-only.
struct CdiMount {
  std::string host_path;
  std::string container_path;

  friend bool operator==(const CdiMount&, const CdiMount&) = default;
};

struct CdiSpec {
  std::string device;             // the name of the device, without the kind
  std::vector<DriverNode> nodes;  // character devices, readable and writable
  std::vector<CdiMount> mounts;
  std::vector<std::pair<std::string, std::string>> env;

  [[nodiscard]] std::string qualified_name() const { return std::string(kCdiKind) + "=" + device; }
  [[nodiscard]] std::string file_name() const {
    return std::string(kCdiFilePrefix) + device + ".json";
  }
  friend bool operator==(const CdiSpec&, const CdiSpec&) = default;
};

/// The name of the CDI device of a container: `<pod uid>_<container>`, or a hash of both if this is
/// no valid or too long a name. It is the same after a restart of the agent. Every name is valid
/// for CDI and as a part of a file name, and has at most max_cdi_device_bytes.
[[nodiscard]] std::string cdi_device_name(std::string_view pod_uid, std::string_view container);

}  // namespace snug::agent
