// Finds the driver's device nodes and MIG capabilities. Thread-safe.
#pragma once

#include <string>

#include "snug/adapters/host/host_files.hpp"

namespace snug::host {

/// Reads a file of at most max_host_file_bytes.
[[nodiscard]] base::Result<std::string> read_host_file(const std::string& path);

/// Sets the fields for nodes of `files`: GPUs by minor number, capabilities by GPU and instances.
[[nodiscard]] base::Result<void> find_driver_nodes(agent::DriverFiles& files,
                                                   const HostPaths& paths);

}  // namespace snug::host
