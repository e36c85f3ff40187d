#include "snug/config/mps_options.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <string_view>

#include "config/option_values.hpp"
#include "snug/base/version.hpp"
#include "snug/config/flag_errors.hpp"

namespace snug::config {
namespace {

struct MpsOptionRow {
  std::string_view flag;
  std::string_view placeholder;
  std::string_view help;
  /// Returns an error message (`must be …`), or an empty text on success.
  std::string (*parse)(MpsOptions& options, std::string_view value);
};

template <std::string MpsOptions::* member>
std::string set_absolute_path(MpsOptions& options, std::string_view value) {
  if (!value.starts_with('/')) return "must be an absolute path";
  options.*member = value;
  return "";
}

std::string set_shared_memory(MpsOptions& options, std::string_view value) {
  constexpr std::int64_t kMost = 1'048'576;
  const auto number = parse_number(value);
  if (!number || *number > kMost) return "must be a number from 0 to " + std::to_string(kMost);
  options.shared_memory_mib = *number;
  return "";
}

std::string set_protocol(MpsOptions& options, std::string_view value) {
  const auto protocol = mps::kProtocolNames.find(value);
  if (!protocol) return "must be 2 or 3";
  options.protocol = *protocol;
  return "";
}

constexpr MpsOptionRow kMpsRows[] = {
    {"--root", "FOLDER",
     "the folder by which snug-agent and snug-mps talk, with the folders of the daemons; default: "
     "/run/nvidia/mps",
     [](MpsOptions& options, std::string_view value) {
       return set_mps_folder(options.root, value);
     }},
    {"--driver-root", "FOLDER",
     "the root folder of the daemons (chroot), with the GPU driver's programs and libraries, such "
     "as /host/run/nvidia/driver; default: /",
     set_absolute_path<&MpsOptions::driver_root>},
    {"--control-program", "FILE",
     "NVIDIA's control program, below the driver's root; default: nvidia-cuda-mps-control in "
     "/usr/bin or /bin",
     set_absolute_path<&MpsOptions::control_program>},
    {"--shared-memory-mib", "N",
     "size of the tmpfs that snug-mps mounts at ROOT/shm, and as /dev/shm of the daemons; with 0 "
     "it mounts none; default: 0",
     set_shared_memory},
    {"--protocol", "2|3",
     "the protocol of the daemons; with 3 each container has a namespace of its GPU's daemon with "
     "its limits, which needs the driver 615; default: 2",
     set_protocol},
    {"--listen", "HOST:PORT", "/livez, /readyz and /metrics; default: 0.0.0.0:8891",
     [](MpsOptions& options, std::string_view value) {
       return set_address(options.listen, value);
     }},
    {"--log-level", "debug|info|warn|error", "lines of a lower level are dropped; default: info",
     [](MpsOptions& options, std::string_view value) { return set_level(options.log, value); }},
    {"--log-format", "text|json", "format of the log on standard error; default: text",
     [](MpsOptions& options, std::string_view value) { return set_format(options.log, value); }},
};

}  // namespace

base::Result<MpsOptions> read_mps_options(int argc, const char* const* argv) {
  MpsOptions options;
  CLI::App app("Runs an MPS daemon for each GPU of its node for which snug-agent wants one.",
               "snug-mps");
  app.set_version_flag("--version", base::version_of("snug-mps"), "Print the version and exit");
  std::map<std::string_view, std::string> values;
  for (const MpsOptionRow& row : kMpsRows) {
    app.add_option(std::string(row.flag), values[row.flag], std::string(row.help))
        ->type_name(std::string(row.placeholder));
  }
  auto to_print = parse_or_print(app, argc, argv);
  if (!to_print) return std::unexpected(to_print.error());
  options.print_and_exit = *std::move(to_print);
  if (!options.print_and_exit.empty()) return options;
  for (const MpsOptionRow& row : kMpsRows) {
    if (app.count(std::string(row.flag)) == 0) continue;
    const std::string complaint = row.parse(options, values[row.flag]);
    if (!complaint.empty())
      return base::fail(base::ErrorCode::kInvalid, std::string(row.flag) + " " + complaint);
  }
  return options;
}

}  // namespace snug::config
