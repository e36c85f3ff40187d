// The settings of snug-agent: flags only, since a DaemonSet passes them as arguments. An error
// message names the flag and says what is allowed.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snug/adapters/obs/log.hpp"
#include "snug/agent/exemptions.hpp"
#include "snug/base/result.hpp"
#include "snug/config/options.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::config {

struct AgentOptions {
  /// The text of --help or --version. If it is not empty, the program prints it and exits with 0.
  std::string print_and_exit;
  /// Run as the container `probe` (agent/enforcement_proof.hpp), not as the agent.
  bool is_probe = false;

  bool publish_usage = false;
  bool stop_violators = false;  // stop containers with GPUs that are not their own

  std::string node;                      // --node-name, or the variable NODE_NAME
  std::string kubeconfig;                // path; empty: in-cluster configuration
  std::string lease_namespace = "snug";  // of the Lease agent.<node>; Snug watches it there
  HostPort listen{"0.0.0.0", 8890};      // /livez, /readyz, /metrics
  std::string nri_socket = "/var/run/nri/nri.sock";
  std::string cdi_folder = "/var/run/cdi";
  std::string host_root;  // where the host's file system is mounted; empty: /
  std::string proc_root = "/";
  std::string dev_root = "/";     // on the host
  std::string driver_root = "/";  // on the host
  std::string nvml_library;       // path; empty: searched below the driver's root
  std::vector<model::GpuMode> modes{model::GpuMode::kWhole, model::GpuMode::kTimeSlicing};
  bool dynamic_mig = false;          // make the MIG slices that Snug reserves
  std::chrono::minutes mig_idle{0};  // after which an idle slice is destroyed; 0: never
  model::ShareLimits limits = model::ShareLimits::kNone;
  std::string hami_core;                    // folder on the host; only with kHamiCore
  std::string mps_root{mps::kDefaultRoot};  // the same path on the host and in the agent
  std::vector<agent::Exemption> exempt;     // in addition to the built-in rules
  std::chrono::milliseconds api_timeout{5000};
  obs::LogOptions log;
};

/// Reads the command line and the variable NODE_NAME. An error is kInvalid, and the program exits
/// with code 2.
[[nodiscard]] base::Result<AgentOptions> read_agent_options(int argc, const char* const* argv);

}  // namespace snug::config
