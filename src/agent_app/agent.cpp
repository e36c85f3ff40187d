#include "agent_app/agent.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "agent_app/probe.hpp"
#include "snug/adapters/host/container_stopper.hpp"
#include "snug/adapters/host/gate_files.hpp"
#include "snug/adapters/host/host_files.hpp"
#include "snug/adapters/host/mps_folder.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/probe_routes.hpp"
#include "snug/adapters/kube/kube_api.hpp"
#include "snug/adapters/kube/kube_node.hpp"
#include "snug/adapters/kube/kube_node_pods.hpp"
#include "snug/adapters/nri/nri_plugin.hpp"
#include "snug/adapters/nvml/nvml_devices.hpp"
#include "snug/adapters/obs/agent_metrics.hpp"
#include "snug/agent_service/container_auditor.hpp"
#include "snug/agent_service/container_guard.hpp"
#include "snug/agent_service/device_loop.hpp"
#include "snug/agent_service/device_monitor.hpp"
#include "snug/agent_service/heartbeat.hpp"
#include "snug/agent_service/node_marks.hpp"
#include "snug/agent_service/pod_retrier.hpp"
#include "snug/agent_service/probe_steering.hpp"
#include "snug/agent_service/retry_causes.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/version.hpp"
#include "snug/service/ticker.hpp"

namespace snug::agent_app {
namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::milliseconds kListenPatience{base::agent_limits::listen_patience_ms};
/// How long the thread that waits for events of the driver lets stop() wait.
constexpr std::chrono::milliseconds kEventWait{200};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

/// Where NVIDIA's management library may be, as the agent sees the host's file system.
std::vector<std::string> nvml_libraries(const config::AgentOptions& options) {
  if (!options.nvml_library.empty()) return {options.nvml_library};
  constexpr const char* kName = "libnvidia-ml.so.1";
  std::vector<std::string> paths;
  for (const char* folder :
       {"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib64"}) {
    paths.push_back(options.host_root + options.driver_root + "/" + folder + "/" + kName);
  }
  paths.emplace_back(kName);
  return paths;
}

agent_service::OwnPod own_pod() {
  return {variable("POD_NAMESPACE"), variable("POD_NAME"), variable("POD_UID")};
}

std::vector<agent::Exemption> exemptions(const config::AgentOptions& options) {
  std::vector<agent::Exemption> all = agent::default_exemptions();
  all.insert(all.end(), options.exempt.begin(), options.exempt.end());
  return all;
}

bool allows_mps(const config::AgentOptions& options) {
  return std::ranges::find(options.modes, model::GpuMode::kMps) != options.modes.end();
}

agent::ShareSettings share_settings(const config::AgentOptions& options) {
  return {.limits = options.limits,
          .allows_mps = allows_mps(options),
          .mps_root = options.mps_root,
          .hami_core = options.hami_core};
}

}  // namespace

/// The parts of the program, in the order of construction. A part may use the parts before it, and
/// those behind pointers, which start() makes before any thread runs.
struct Agent::Parts {
  explicit Parts(const config::AgentOptions& options)
      : log(options.log),
        metrics(obs::make_agent_metrics(base::version())),
        host({.host_root = options.host_root.empty() ? "/" : options.host_root,
              .driver_root = options.driver_root,
              .dev_root = options.dev_root,
              .proc_root = options.proc_root,
              .cdi_folder = options.cdi_folder}),
        devices({.libraries = nvml_libraries(options)}),
        pods([this] {
          if (slices) slices->wake();
        }),
        enforcement(own_pod(),
                    [lock = host.path_here(snug::host::kGateLockFile)] {
                      return snug::host::is_gate_locked(lock);
                    }),
        monitor({devices, host, book, *metrics, log, clock}),
        limiter({devices, host, log}, share_settings(options)),
        mps_folder(options.mps_root),
        mps({mps_folder, pods, book, sandboxes, log},
            {options.node, limits, allows_mps(options), options.limits}),
        guard({.host = host,
               .pods = pods,
               .book = book,
               .enforcement = enforcement,
               .metrics = *metrics,
               .log = log,
               .clock = clock,
               .running = running,
               .sandboxes = sandboxes,
               .limiter = limiter,
               .troubles = options.dynamic_mig ? &slice_troubles : nullptr,
               .mps = &mps},
              {options.node, exemptions(options), limits}),
        auditor({running, pods, book, *metrics, log, options.stop_violators ? &stopper : nullptr},
                {options.node, exemptions(options), limits},
                [this](const agent::SandboxView& sandbox, std::string_view reason,
                       std::string note) { report(sandbox, reason, std::move(note)); }),
        plugin({.socket_path = options.nri_socket}, guard, log),
        probe(enforcement.own_pod().uid, options.nri_socket, log),
        probe_steering({enforcement, pods, probe, *metrics, log}) {}

  void report(const agent::SandboxView& sandbox, std::string_view reason, std::string note) {
    events->notify({.name_space = sandbox.name_space,
                    .name = sandbox.name,
                    .uid = sandbox.uid,
                    .reason = std::string(reason),
                    .note = std::move(note)});
  }
  void report(const agent::PodView& pod, const agent::SliceFailure& failure) {
    events->notify({.name_space = pod.name_space,
                    .name = pod.name,
                    .uid = pod.uid,
                    .reason = "SliceFailed",
                    .note = agent::slice_noun(failure.profile, failure.start, failure.gpu_uuid) +
                            " cannot be made: " + failure.sentence});
  }

  base::SteadyClock clock;
  const base::Limits limits;
  obs::SpdlogLog log;
  const std::unique_ptr<obs::PrometheusAgentMetrics> metrics;
  host::HostFiles host;
  nvml::NvmlDevices devices;
  agent_service::PodBook pods;
  agent_service::NodeBook book;
  agent_service::EnforcementKeeper enforcement;
  agent_service::DeviceMonitor monitor;
  std::unique_ptr<kube::KubeApi> events;
  std::unique_ptr<kube::KubeNode> node;
  std::unique_ptr<kube::KubeNodePods> node_pods;
  agent_service::RunningContainers running;
  agent_service::SandboxBook sandboxes;
  agent_service::SliceTroubleBook slice_troubles;
  agent_service::ShareLimiter limiter;
  host::MpsFolder mps_folder;
  agent_service::MpsKeeper mps;
  std::unique_ptr<agent_service::UsageMeter> usage;    // null: the usage is not published
  std::unique_ptr<agent_service::SliceKeeper> slices;  // null: the agent makes no slices
  std::unique_ptr<agent_service::DeviceLoop> device_loop;
  agent_service::ContainerGuard guard;
  host::ContainerStopper stopper;
  agent_service::ContainerAuditor auditor;
  nri::NriPlugin plugin;
  Probe probe;
  agent_service::ProbeSteering probe_steering;
  std::unique_ptr<agent_service::NodeMarksKeeper> marks;
  std::unique_ptr<agent_service::Heartbeat> heartbeat;
  agent_service::RetryCauses retry_causes;
  std::unique_ptr<agent_service::PodRetrier> retrier;
  std::unique_ptr<http::AdminServer> admin;
  std::atomic<bool> stopping = false;
  std::thread device_thread;
  std::unique_ptr<service::Ticker> ticker;
};

Agent::Agent(config::AgentOptions options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>(options_)) {}

Agent::~Agent() { stop(); }

base::Result<void> Agent::open_kubernetes() {
  Parts& parts = *parts_;
  const auto endpoint = options_.kubeconfig.empty()
                            ? kube::in_cluster(parts.limits, "--kubeconfig FILE")
                            : kube::load_kubeconfig(options_.kubeconfig, parts.limits);
  if (!endpoint) return std::unexpected(endpoint.error());
  const agent_service::OwnPod& pod = parts.enforcement.own_pod();
  const kube::KubeOptions kube_options{.api_timeout = options_.api_timeout,
                                       .own_namespace = options_.lease_namespace,
                                       .own_pod = pod.name,
                                       .seed = random_seed()};
  const kube::KubeContext context{parts.limits, *parts.metrics, parts.log, parts.clock};
  parts.events = std::make_unique<kube::KubeApi>(*endpoint, kube_options, context);
  parts.node = std::make_unique<kube::KubeNode>(*endpoint, kube_options, context, options_.node);
  parts.node_pods =
      std::make_unique<kube::KubeNodePods>(*endpoint, kube_options, context, options_.node);
  parts.retrier = std::make_unique<agent_service::PodRetrier>(*parts.node, parts.pods, parts.log);
  parts.heartbeat = std::make_unique<agent_service::Heartbeat>(*parts.node, parts.log);
  return make_keepers();
}

base::Result<void> Agent::make_keepers() {
  Parts& parts = *parts_;
  if (options_.publish_usage)
    parts.usage = std::make_unique<agent_service::UsageMeter>(parts.devices, parts.log);
  if (options_.dynamic_mig) {
    parts.slices = std::make_unique<agent_service::SliceKeeper>(
        agent_service::SliceKeeper::Parts{parts.devices, *parts.node, parts.pods, parts.book,
                                          parts.sandboxes, parts.slice_troubles, *parts.metrics,
                                          parts.log},
        agent_service::SliceKeeper::Options{options_.node, options_.mig_idle, parts.limits},
        [&parts](const agent::PodView& pod, const agent::SliceFailure& failure) {
          parts.report(pod, failure);
        });
  }
  parts.device_loop = std::make_unique<agent_service::DeviceLoop>(parts.monitor, parts.slices.get(),
                                                                  parts.usage.get(), parts.clock);
  auto boot_id = parts.host.boot_id();
  if (!boot_id) return std::unexpected(boot_id.error());
  parts.marks = std::make_unique<agent_service::NodeMarksKeeper>(
      agent_service::NodeMarksKeeper::Parts{*parts.node, parts.book, parts.enforcement,
                                            parts.limiter, parts.slice_troubles, *parts.metrics,
                                            parts.log, &parts.mps, parts.usage.get()},
      agent_service::NodeMarksKeeper::Options{options_.node,
                                              {.boot_id = *std::move(boot_id),
                                               .modes = options_.modes,
                                               .dynamic_mig = options_.dynamic_mig},
                                              parts.limits});
  return {};
}

base::Result<void> Agent::serve() {
  Parts& parts = *parts_;
  std::vector<http::AdminRoute> routes = http::probe_routes(
      {.readiness =
           "whether the agent answers the container runtime, with all that it needs to know",
       .why_not_ready = [this] { return why_not_ready(); },
       .exposition = [&parts] { return parts.metrics->exposition(); }});
  parts.admin = std::make_unique<http::AdminServer>(
      std::move(routes), nullptr,
      http::HttpOptions{.host = options_.listen.host,
                        .port = options_.listen.port,
                        .on_problem =
                            [&parts](std::string_view problem) {
                              parts.log.write(service::LogLevel::kWarn, problem);
                            }},
      parts.limits);
  return listen();
}

base::Result<void> Agent::listen() {
  Parts& parts = *parts_;
  const base::TimePoint last_try = parts.clock.now() + kListenPatience;
  bool is_logged = false;
  for (;;) {
    auto started = parts.admin->start();
    const bool is_in_use = !started && started.error().code == base::ErrorCode::kConflict;
    if (!is_in_use || parts.clock.now() >= last_try) return started;
    if (!std::exchange(is_logged, true)) {
      parts.log.write(service::LogLevel::kWarn,
                      started.error().message + "; the agent tries again for " +
                          std::to_string(kListenPatience.count() / 1'000) +
                          " s, in case the agent that it replaces is ending");
    }
    std::this_thread::sleep_for(kTick);
  }
}

base::Result<void> Agent::start() {
  Parts& parts = *parts_;
  if (auto opened = open_kubernetes(); !opened) return opened;
  if (auto served = serve(); !served) return served;
  if (!parts.enforcement.own_pod().uid.empty()) {
    if (auto started = parts.probe.start(); !started) return started;
  }
  parts.log.write(service::LogLevel::kInfo, base::version_of("snug-agent") + " starts",
                  {{"node", options_.node}});
  parts.device_thread = std::thread([&parts] {
    while (!parts.stopping) parts.device_loop->step(kEventWait);
  });
  parts.node_pods->start(parts.pods);
  if (auto started = parts.plugin.start(); !started) return started;
  parts.ticker = std::make_unique<service::Ticker>("agent", kTick, parts.log, [this] { tick(); });
  return {};
}

void Agent::tick() {
  Parts& parts = *parts_;
  const base::TimePoint now = parts.clock.now();
  parts.enforcement.check_gate(now);
  parts.probe_steering.tick();
  const bool has_devices = parts.monitor.has_read();
  parts.limiter.refresh(now);
  parts.guard.tick(has_devices);
  parts.auditor.tick(now,
                     {.has_devices = has_devices, .gives_devices = parts.guard.gives_devices()});
  if (parts.enforcement.state().is_connected) parts.heartbeat->tick(now);
  const bool daemons_changed = parts.mps.tick(now);
  const bool can_answer = why_not_answering().empty();
  const bool has_cause = parts.retry_causes.have_come(can_answer, parts.book.get());
  if (daemons_changed || has_cause) parts.retrier->can_give_more();
  parts.retrier->tick(now);
  parts.marks->tick(now, {.has_devices = has_devices, .can_answer = can_answer});
}

std::string Agent::why_not_answering() const {
  const Parts& parts = *parts_;
  if (!parts.pods.fresh()) return "the pods of the node are not listed";
  if (!parts.monitor.has_read()) return "the GPU driver has not answered yet";
  if (!parts.monitor.is_alive()) return "a call of the GPU driver does not return";
  if (!parts.enforcement.state().is_connected) return "the container runtime is not connected";
  return "";
}

std::string Agent::why_not_ready() const {
  std::string why_not = why_not_answering();
  if (!why_not.empty()) return why_not;
  return parts_->marks->is_published() ? "" : "the inventory is not written to the node";
}

std::string Agent::listening_line() const {
  return "listening admin=" + http::address_text(options_.listen.host, parts_->admin->port());
}

void Agent::stop() {
  Parts& parts = *parts_;
  if (parts.stopping.exchange(true)) return;
  parts.ticker.reset();
  parts.probe.withdraw_plugin();
  parts.plugin.stop();
  if (parts.node_pods) parts.node_pods->stop();
  if (parts.device_thread.joinable()) parts.device_thread.join();
  if (parts.admin) parts.admin->stop();
}

}  // namespace snug::agent_app
