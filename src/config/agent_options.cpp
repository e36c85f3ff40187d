#include "snug/config/agent_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <span>
#include <string_view>

#include "config/option_values.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/version.hpp"
#include "snug/config/flag_errors.hpp"

namespace snug::config {
namespace {

struct AgentOptionRow {
  std::string_view flag;
  std::string_view placeholder;
  std::string_view help;
  /// Returns an error message (`must be …`), or an empty text on success.
  std::string (*parse)(AgentOptions& options, std::string_view value);
  bool is_list = false;
};

template <std::string AgentOptions::* member>
std::string set_member(AgentOptions& options, std::string_view value) {
  return set_text(options.*member, value);
}

/// Modes that the operator allows on the GPUs of the node; the agent learns of MIG from the driver.
std::string set_modes(AgentOptions& options, std::string_view value) {
  constexpr const char* kAllowed =
      "must be a comma-separated list of whole, time-slicing and mps, each at most once";
  std::vector<model::GpuMode> modes;
  while (true) {
    const auto comma = value.find(',');
    const model::GpuMode mode = model::parse_gpu_mode(value.substr(0, comma));
    if (mode == model::GpuMode::kNone || mode == model::GpuMode::kMig) return kAllowed;
    for (const model::GpuMode other : modes) {
      if (other == mode) return kAllowed;
    }
    modes.push_back(mode);
    if (comma == value.npos) break;
    value.remove_prefix(comma + 1);
  }
  options.modes = std::move(modes);
  return "";
}

std::string set_hami_core(AgentOptions& options, std::string_view value) {
  if (!value.starts_with('/')) return "must be an absolute path";
  options.hami_core = value;
  return "";
}

std::string set_limits(AgentOptions& options, std::string_view value) {
  using enum model::ShareLimits;
  constexpr std::array kWords{EnumWord<model::ShareLimits>{"none", kNone},
                              EnumWord<model::ShareLimits>{"mps", kMps},
                              EnumWord<model::ShareLimits>{"driver", kDriver},
                              EnumWord<model::ShareLimits>{"hami-core", kHamiCore}};
  return set_enum(options.limits, value, kWords);
}

/// Returns an error message about flags that do not fit together; empty: they do.
std::string check_limits(const AgentOptions& options) {
  const auto allows = [&options](model::GpuMode mode) {
    return std::ranges::find(options.modes, mode) != options.modes.end();
  };
  if (options.limits == model::ShareLimits::kMps && !allows(model::GpuMode::kMps))
    return "--limits mps needs mps in --modes";
  if (options.limits != model::ShareLimits::kHamiCore) return "";
  if (!allows(model::GpuMode::kTimeSlicing) || allows(model::GpuMode::kMps))
    return "--limits hami-core needs time-slicing in --modes, without mps, which it does not limit";
  if (options.hami_core.empty()) return "--limits hami-core needs --hami-core";
  return "";
}

std::string add_exempt(AgentOptions& options, std::string_view value) {
  const auto slash = value.find('/');
  if (slash == value.npos || slash == 0 || slash + 1 == value.size() ||
      value.find('/', slash + 1) != value.npos) {
    return "must be NAMESPACE/SERVICEACCOUNT, each with * and ? as wildcards, like "
           "gpu-operator/nvidia-*";
  }
  options.exempt.push_back(
      {std::string(value.substr(0, slash)), std::string(value.substr(slash + 1))});
  return "";
}

std::string set_mig_idle(AgentOptions& options, std::string_view value) {
  const auto minutes = parse_number(value);
  if (!minutes || *minutes > base::agent_limits::max_mig_idle_minutes) {
    return "must be a whole number of minutes from 0 to " +
           std::to_string(base::agent_limits::max_mig_idle_minutes);
  }
  options.mig_idle = std::chrono::minutes(*minutes);
  return "";
}

constexpr AgentOptionRow kAgentRows[] = {
    {"--node-name", "NAME", "the node that the agent runs on; default: the variable NODE_NAME",
     set_member<&AgentOptions::node>},
    {"--kubeconfig", "FILE", "how to reach the API server; default: the pod's service account",
     set_member<&AgentOptions::kubeconfig>},
    {"--listen", "HOST:PORT", "/livez, /readyz and /metrics; default: 0.0.0.0:8890",
     [](AgentOptions& options, std::string_view value) {
       return set_address(options.listen, value);
     }},
    {"--lease-namespace", "NAMESPACE",
     "where the agent renews its Lease: the namespace of Snug's setting lease; default: snug",
     set_member<&AgentOptions::lease_namespace>},
    {"--nri-socket", "FILE",
     "the container runtime's socket for plug-ins; default: /var/run/nri/nri.sock",
     set_member<&AgentOptions::nri_socket>},
    {"--cdi-folder", "FOLDER",
     "where the container runtime reads CDI specifications; default: /var/run/cdi",
     set_member<&AgentOptions::cdi_folder>},
    {"--host-root", "FOLDER", "where the file system of the host is mounted; default: /",
     set_member<&AgentOptions::host_root>},
    {"--dev-root", "FOLDER",
     "the folder on the host whose folder dev has the device nodes; default: /",
     set_member<&AgentOptions::dev_root>},
    {"--driver-root", "FOLDER",
     "the root of the GPU driver's files on the host, such as /run/nvidia/driver; default: /",
     set_member<&AgentOptions::driver_root>},
    {"--proc-root", "FOLDER",
     "the folder whose folder proc has the boot id and the driver's capabilities; default: /",
     set_member<&AgentOptions::proc_root>},
    {"--nvml-library", "FILE",
     "NVIDIA's management library; default: libnvidia-ml.so.1 below the driver's root",
     set_member<&AgentOptions::nvml_library>},
    {"--modes", "LIST",
     "the modes that pods may use, of whole, time-slicing and mps, preferred ones first; default: "
     "whole,time-slicing",
     set_modes},
    {"--mig-idle-minutes", "MINUTES",
     "with --dynamic-mig: how long an idle slice stays whose place nothing needs; 0: forever; "
     "default: 0",
     set_mig_idle},
    {"--limits", "none|mps|driver|hami-core",
     "what limits shares on the node: mps and hami-core limit memory and compute, driver memory "
     "alone; default: none",
     set_limits},
    {"--hami-core", "FOLDER",
     "the folder on the host that has HAMi-core's libvgpu.so and ld.so.preload; only for --limits "
     "hami-core",
     set_hami_core},
    {"--mps-root", "FOLDER",
     "the folder by which the agent and snug-mps talk, which the agent must have at the same path "
     "as the host; default: /run/nvidia/mps",
     [](AgentOptions& options, std::string_view value) {
       return set_mps_folder(options.mps_root, value);
     }},
    {"--exempt", "NAMESPACE/SERVICEACCOUNT",
     "pods that get the GPUs that they ask for without a reservation; added to the built-in list",
     add_exempt, true},
    {"--api-timeout", "DURATION", "the longest call to the API server; default: 5s",
     [](AgentOptions& options, std::string_view value) {
       return set_duration(options.api_timeout, value);
     }},
    {"--log-level", "debug|info|warn|error", "lines of a lower level are dropped; default: info",
     [](AgentOptions& options, std::string_view value) { return set_level(options.log, value); }},
    {"--log-format", "text|json", "format of the log on standard error; default: text",
     [](AgentOptions& options, std::string_view value) { return set_format(options.log, value); }},
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

base::Result<AgentOptions> read_agent_options(int argc, const char* const* argv) {
  AgentOptions options;
  CLI::App app("Gives each container of its node exactly the GPUs that Snug has reserved for it.",
               "snug-agent");
  app.set_version_flag("--version", base::version_of("snug-agent"), "Print the version and exit");
  app.add_flag("--probe", options.is_probe,
               "run as the container `probe` of the agent's pod, which only waits");
  app.add_flag("--dynamic-mig", options.dynamic_mig,
               "make the MIG slices that Snug reserves, and destroy idle ones in their way");
  app.add_flag("--publish-usage", options.publish_usage,
               "publish how much of each GPU is in use, for the score term least-used");
  app.add_flag("--stop-violators", options.stop_violators,
               "stop containers that have GPUs which are not their own");
  std::map<std::string_view, std::vector<std::string>> values;
  for (const AgentOptionRow& row : kAgentRows) {
    CLI::Option* option =
        app.add_option(std::string(row.flag), values[row.flag], std::string(row.help));
    option->type_name(std::string(row.placeholder));
    if (!row.is_list) option->expected(1)->allow_extra_args(false);
  }
  auto to_print = parse_or_print(app, argc, argv);
  if (!to_print) return std::unexpected(to_print.error());
  options.print_and_exit = *std::move(to_print);
  if (!options.print_and_exit.empty()) return options;
  for (const AgentOptionRow& row : kAgentRows) {
    for (const std::string& value : values[row.flag]) {
      const std::string complaint = row.parse(options, value);
      if (!complaint.empty())
        return base::fail(base::ErrorCode::kInvalid, std::string(row.flag) + " " + complaint);
    }
  }
  if (const std::string complaint = check_limits(options); !complaint.empty())
    return base::fail(base::ErrorCode::kInvalid, complaint);
  if (options.node.empty()) options.node = variable("NODE_NAME");
  if (options.node.empty() && !options.is_probe) {
    return base::fail(base::ErrorCode::kInvalid,
                      "--node-name is required where the variable NODE_NAME is not set");
  }
  return options;
}

}  // namespace snug::config
