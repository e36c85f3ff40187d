#include "mps_app/mps_program.hpp"

#include <chrono>
#include <ctime>
#include <thread>
#include <utility>
#include <vector>

#include "snug/adapters/host/daemon_folders.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/probe_routes.hpp"
#include "snug/adapters/obs/log.hpp"
#include "snug/adapters/obs/mps_metrics.hpp"
#include "snug/adapters/process/processes.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/version.hpp"
#include "snug/mps_service/supervisor.hpp"

namespace snug::mps_app {
namespace {

constexpr std::chrono::milliseconds kTick{50};

}  // namespace

/// The parts of the program, in the order of construction. A part may use the parts before it.
struct MpsProgram::Parts {
  explicit Parts(const config::MpsOptions& options)
      : log(options.log),
        metrics(base::version()),
        folders({.root = options.root,
                 .shared_memory_mib = options.shared_memory_mib,
                 .driver_root = options.driver_root,
                 .control_program = options.control_program}),
        supervisor({processes, folders, metrics, log}, options.protocol) {}

  base::SteadyClock clock;
  const base::Limits limits;
  obs::SpdlogLog log;
  obs::PrometheusMpsMetrics metrics;
  process::Processes processes;
  host::DaemonFolders folders;
  mps_service::Supervisor supervisor;
  std::unique_ptr<http::AdminServer> admin;
};

MpsProgram::MpsProgram(config::MpsOptions options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>(options_)) {}

MpsProgram::~MpsProgram() = default;

base::Result<void> MpsProgram::serve() {
  Parts& parts = *parts_;
  std::vector<http::AdminRoute> routes =
      http::probe_routes({.readiness = "whether snug-mps can read which MPS daemons are wanted",
                          .why_not_ready = [&parts] { return parts.supervisor.why_not_ready(); },
                          .exposition = [&parts] { return parts.metrics.exposition(); }});
  parts.admin = std::make_unique<http::AdminServer>(
      std::move(routes), nullptr,
      http::HttpOptions{.host = options_.listen.host,
                        .port = options_.listen.port,
                        .on_problem =
                            [&parts](std::string_view problem) {
                              parts.log.write(service::LogLevel::kWarn, problem);
                            }},
      parts.limits);
  return parts.admin->start();
}

base::Result<void> MpsProgram::start() {
  Parts& parts = *parts_;
  if (const auto prepared = parts.folders.prepare(); !prepared)
    return std::unexpected(prepared.error());
  if (auto served = serve(); !served) return served;
  parts.log.write(service::LogLevel::kInfo, base::version_of("snug-mps") + " starts",
                  {{"root", options_.root}});
  parts.supervisor.adopt_daemons(parts.clock.now());
  return {};
}

std::string MpsProgram::listening_line() const {
  return "listening admin=" + http::address_text(options_.listen.host, parts_->admin->port());
}

void MpsProgram::run(const sigset_t& signals) {
  Parts& parts = *parts_;
  constexpr timespec kWait{
      .tv_sec = 0, .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(kTick).count()};
  do {
    parts.supervisor.tick(parts.clock.now());
  } while (sigtimedwait(&signals, nullptr, &kWait) < 0);
  parts.log.write(service::LogLevel::kInfo, "snug-mps ends all MPS daemons");
  parts.supervisor.stop(parts.clock.now());
  while (!parts.supervisor.is_stopped(parts.clock.now())) {
    parts.supervisor.tick(parts.clock.now());
    std::this_thread::sleep_for(kTick);
  }
  parts.admin->stop();
}

}  // namespace snug::mps_app
