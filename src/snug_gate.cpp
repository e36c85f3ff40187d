// The main function of snug-gate: a plug-in that the container runtime starts from its folder of
// plug-ins. With --install it puts itself there. It runs on any host: it is linked statically.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "snug/adapters/host/gate_files.hpp"
#include "snug/adapters/nri/runtime_gate.hpp"
#include "snug/base/version.hpp"
#include "snug/config/signals.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr std::string_view kInstall = "--install=";
constexpr const char* kUsage =
    "The container runtime starts this program from its folder of plug-ins.\n"
    "  --install=FOLDER   copy it to FOLDER/99-snug-gate, and wait for SIGTERM or SIGINT\n"
    "  --help, --version\n";

int fail(const snug::base::Error& error) {
  std::fprintf(stderr, "snug-gate: %s\n", error.message.c_str());
  return kFailed;
}

int fail_usage(const std::string& problem) {
  std::fprintf(stderr, "snug-gate: %s; see --help\n", problem.c_str());
  return kBadUsage;
}

int install(const std::string& folder) {
  const sigset_t signals = snug::config::block_signals({SIGTERM, SIGINT});
  const auto done = snug::host::install_gate("/proc/self/exe", folder);
  if (!done) return fail(done.error());
  std::printf("installed %s/%s; restart the container runtime\n", folder.c_str(),
              snug::host::kGateFile);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  return kDone;
}

/// The variable by which the runtime tells a plug-in something; empty: it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int serve(int socket) {
  const auto lock = [] {
    // Without the lock the gate refuses just as well, but the agent counts on none.
    if (const auto held = snug::host::hold_gate_lock(snug::host::kGateLockFile); !held)
      fail(held.error());
  };
  return fail(snug::nri::serve_gate({.socket = socket,
                                     .name = variable("NRI_PLUGIN_NAME"),
                                     .index = variable("NRI_PLUGIN_IDX"),
                                     .on_ready = lock}));
}

}  // namespace

int main(int argc, char** argv) {
  const int socket = std::atoi(variable("NRI_PLUGIN_SOCKET").c_str());
  if (argc < 2) {
    return socket > 2 ? serve(socket) : fail_usage("the container runtime starts this program");
  }
  const std::string_view flag = argv[1];
  const bool installs = flag.starts_with(kInstall);
  if (!installs && flag != "--help" && flag != "--version")
    return fail_usage("unknown flag " + std::string(flag));
  if (argc > 2) return fail_usage("unknown flag " + std::string(argv[2]));
  if (installs && flag == kInstall) return fail_usage("--install= names no folder");
  if (installs) return install(std::string(flag.substr(kInstall.size())));
  const std::string text =
      flag == "--help" ? std::string(kUsage) : snug::base::version_of("snug-gate") + "\n";
  std::fputs(text.c_str(), stdout);
  return kDone;
}
