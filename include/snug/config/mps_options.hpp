// The settings of snug-mps: flags only, since a DaemonSet passes them as arguments. An error
// message names the flag and says what is allowed.
#pragma once

#include <cstdint>
#include <string>

#include "snug/adapters/obs/log.hpp"
#include "snug/base/result.hpp"
#include "snug/config/options.hpp"
#include "snug/mps/control_commands.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::config {

struct MpsOptions {
  /// The text of --help or --version. If it is not empty, the program prints it and exits with 0.
  std::string print_and_exit;

  std::string root{mps::kDefaultRoot};
  std::string driver_root = "/";       // the root folder of the daemons, with the driver's programs
  std::string control_program;         // path in driver_root; empty: searched there
  std::int64_t shared_memory_mib = 0;  // 0: snug-mps mounts nothing
  mps::Protocol protocol = mps::Protocol::k2;
  HostPort listen{"0.0.0.0", 8891};  // /livez, /readyz, /metrics
  obs::LogOptions log;
};

/// Reads the command line. An error is kInvalid, and the program exits with code 2.
[[nodiscard]] base::Result<MpsOptions> read_mps_options(int argc, const char* const* argv);

}  // namespace snug::config
