#include "agent_app/agent.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "agent_app/probe_link.hpp"
#include "snug/adapters/host/host_files.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/kube/kube_api.hpp"
#include "snug/adapters/kube/kube_node.hpp"
#include "snug/adapters/kube/kube_node_pods.hpp"
#include "snug/adapters/nri/nri_plugin.hpp"
#include "snug/adapters/nvml/nvml_devices.hpp"
#include "snug/adapters/obs/agent_metrics.hpp"
#include "snug/agent/inventory.hpp"
#include "snug/agent_codec/inventory_writer.hpp"
#include "snug/agent_service/container_guard.hpp"
#include "snug/agent_service/device_monitor.hpp"
#include "snug/agent_service/heartbeat.hpp"
#include "snug/agent_service/idle_runtime_sink.hpp"
#include "snug/agent_service/inventory_publisher.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/codec/inventory_codec.hpp"
#include "snug/service/ticker.hpp"

namespace snug::agent_app {
namespace {

constexpr std::chrono::milliseconds kTick{50};
/// How long the thread that waits for events of the driver lets stop() wait.
constexpr std::chrono::milliseconds kEventWait{200};
/// The shortest time between two reads of all GPUs.
constexpr std::chrono::milliseconds kEventPause{500};

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

}  // namespace

/// The parts of the program, in the order of construction. A part may use the parts before it.
struct Agent::Parts {
  explicit Parts(const config::AgentOptions& options)
      : log(options.log),
        metrics(obs::make_agent_metrics(SNUG_VERSION)),
        host({.host_root = options.host_root.empty() ? "/" : options.host_root,
              .driver_root = options.driver_root,
              .dev_root = options.dev_root,
              .proc_root = options.proc_root,
              .cdi_folder = options.cdi_folder}),
        devices({.libraries = nvml_libraries(options)}),
        enforcement(own_pod()),
        monitor({devices, host, book, *metrics, log, clock}),
        guard({host, pods, book, enforcement, *metrics, log, clock},
              {options.node, exemptions(options), base::Limits{}},
              [this](const agent::SandboxView& sandbox, const agent::AuditFinding& finding) {
                report(sandbox, finding);
              }),
        plugin({.socket_path = options.nri_socket}, guard, log),
        probe_link(enforcement.own_pod().uid) {}

  void report(const agent::SandboxView& sandbox, const agent::AuditFinding& finding) {
    if (!events) return;
    events->notify({.name_space = sandbox.name_space,
                    .name = sandbox.name,
                    .uid = sandbox.uid,
                    .reason = "ForeignGpu",
                    .note = finding.sentence});
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
  agent_service::ContainerGuard guard;
  nri::NriPlugin plugin;
  agent_service::IdleRuntimeSink idle;
  std::unique_ptr<nri::NriPlugin> probe_plugin;  // null: not registered; used by tick() alone
  ProbeLink probe_link;
  std::unique_ptr<agent_service::InventoryPublisher> publisher;
  std::unique_ptr<agent_service::Heartbeat> heartbeat;
  std::unique_ptr<http::AdminServer> admin;
  std::string boot_id;
  base::TimePoint next_claim = base::TimePoint::min();
  bool claim_known = false;  // used by tick() alone, like the next three
  bool was_settled = false;
  bool was_connected = false;
  std::uint64_t counted_writes = 0;
  std::uint64_t counted_failures = 0;
  std::shared_ptr<const agent_service::NodeKnowledge> wanted;  // what the publisher was told last
  bool wanted_closed = false;
  std::atomic<bool> published = false;
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
                            ? kube::in_cluster(parts.limits)
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
  parts.publisher = std::make_unique<agent_service::InventoryPublisher>(*parts.node, parts.log);
  parts.heartbeat = std::make_unique<agent_service::Heartbeat>(*parts.node, parts.log);
  return {};
}

base::Result<void> Agent::serve() {
  Parts& parts = *parts_;
  constexpr const char* kPlainText = "text/plain; charset=utf-8";
  std::vector<http::AdminRoute> routes{
      {.method = "GET",
       .pattern = "/livez",
       .summary = "whether the process lives",
       .handler =
           [](const http::AdminRequest&) {
             return http::AdminReply{.body = "ok\n", .content_type = kPlainText};
           }},
      {.method = "GET",
       .pattern = "/readyz",
       .summary = "whether the agent answers the container runtime, with all that it needs to know",
       .handler =
           [this](const http::AdminRequest&) {
             const std::string why_not = why_not_ready();
             return http::AdminReply{
                 .status = why_not.empty() ? 200 : 503,
                 .body = (why_not.empty() ? "ok" : "not ready: " + why_not) + "\n",
                 .content_type = kPlainText};
           }},
      {.method = "GET",
       .pattern = "/metrics",
       .summary = "metrics for Prometheus",
       .handler =
           [&parts](const http::AdminRequest&) {
             return http::AdminReply{.body = parts.metrics->exposition(),
                                     .content_type = "text/plain; version=0.0.4"};
           }},
  };
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

base::Result<void> Agent::start() {
  Parts& parts = *parts_;
  if (auto opened = open_kubernetes(); !opened) return opened;
  auto boot_id = parts.host.boot_id();
  if (!boot_id) return std::unexpected(boot_id.error());
  parts.boot_id = *std::move(boot_id);
  if (auto served = serve(); !served) return served;
  if (!parts.enforcement.own_pod().uid.empty()) {
    if (auto started = parts.probe_link.start(); !started) return started;
  }
  parts.log.write(service::LogLevel::kInfo, "snug-agent " SNUG_VERSION " starts",
                  {{"node", options_.node}});
  parts.device_thread = std::thread([this] { watch_devices(); });
  parts.node_pods->start(parts.pods);
  if (auto started = parts.plugin.start(); !started) return started;
  parts.ticker = std::make_unique<service::Ticker>("agent", kTick, parts.log, [this] { tick(); });
  return {};
}

void Agent::watch_devices() {
  Parts& parts = *parts_;
  base::TimePoint next_read = parts.clock.now();
  base::TimePoint last_read = next_read;
  while (!parts.stopping) {
    if (parts.clock.now() >= next_read) {
      parts.monitor.read();
      next_read = parts.clock.now() + std::chrono::milliseconds(base::agent_limits::device_poll_ms);
    }
    // Events of the programs that use the GPUs may come in any number.
    if (parts.monitor.wait_for_event(kEventWait))
      next_read = std::min(next_read, last_read + kEventPause);
  }
}

void Agent::adopt_claim() {
  Parts& parts = *parts_;
  const base::TimePoint now = parts.clock.now();
  if (now < parts.next_claim) return;
  parts.next_claim = now + std::chrono::milliseconds(base::agent_limits::inventory_interval_ms);
  const auto marks = parts.node->read_marks();
  if (!marks) return;
  parts.claim_known = true;
  const std::optional<std::string>& published = marks->inventory;
  if (!published) return;
  const model::NodeFacts facts{.name = options_.node,
                               .boot_id = parts.boot_id,
                               .annotations = {{"snug.dev/inventory", *published}}};
  const model::NodeInventory inventory = codec::read_inventory(facts, parts.limits);
  if (inventory.closed_to_all == model::ReasonCode::kNone &&
      inventory.enforcement == model::Enforcement::kFailClosed) {
    parts.enforcement.claimed();
  }
}

void Agent::steer_probe() {
  Parts& parts = *parts_;
  const auto state = parts.enforcement.state();
  if (state.is_settled != parts.was_settled || state.is_connected != parts.was_connected) {
    parts.log.write(service::LogLevel::kInfo,
                    std::string(state.fails_closed ? "the node fails closed: "
                                                   : "the node does not fail closed: ") +
                        state.explanation);
  }
  if (!state.is_connected || !state.is_settled) {
    // A probe that was created before proves nothing; it is to be created again, without the
    // plug-in that it requires.
    parts.probe_plugin.reset();
    parts.probe_link.restart_probe();
    parts.enforcement.probe_withdrawn();
  } else if (!parts.probe_plugin) {
    parts.probe_plugin = std::make_unique<nri::NriPlugin>(
        nri::NriOptions{.socket_path = options_.nri_socket,
                        .name = std::string(agent_service::kProbePlugin),
                        .index = "11"},
        parts.idle, parts.log);
    if (const auto started = parts.probe_plugin->start(); !started) {
      parts.log.write(service::LogLevel::kError, started.error().message);
      parts.probe_plugin.reset();
    }
  }
  parts.was_settled = state.is_settled;
  parts.was_connected = state.is_connected;
  parts.metrics->fails_closed(state.fails_closed);
}

void Agent::tick() {
  Parts& parts = *parts_;
  const agent_service::OwnPod& own = parts.enforcement.own_pod();
  if (const auto pod = parts.pods.lookup(own.uid, own.name_space, own.name)) {
    parts.enforcement.own_pod_shown(*pod);
  }
  if (!own.uid.empty()) steer_probe();
  const bool has_devices = parts.monitor.has_read();
  parts.guard.tick(has_devices);
  const auto state = parts.enforcement.state();
  if (state.is_connected) parts.heartbeat->tick(parts.clock.now());
  if (!parts.claim_known) adopt_claim();
  if (!parts.claim_known || !has_devices) return;
  want_marks();
  parts.publisher->tick(parts.clock.now());
  parts.published = parts.publisher->is_published();
  for (; parts.counted_writes < parts.publisher->writes(); ++parts.counted_writes)
    parts.metrics->node_written(true);
  for (; parts.counted_failures < parts.publisher->failures(); ++parts.counted_failures)
    parts.metrics->node_written(false);
}

void Agent::want_marks() {
  Parts& parts = *parts_;
  const bool fails_closed = parts.enforcement.state().fails_closed;
  const auto knowledge = parts.book.get();
  if (knowledge == parts.wanted && fails_closed == parts.wanted_closed) return;
  parts.wanted = knowledge;
  parts.wanted_closed = fails_closed;
  const agent::Inventory inventory = agent::make_inventory(
      knowledge->devices,
      {.boot_id = parts.boot_id,
       .modes = options_.modes,
       .enforcement = fails_closed ? model::Enforcement::kFailClosed : model::Enforcement::kOpen});
  parts.publisher->want(
      {.inventory = agent_codec::write_inventory(inventory),
       .enforced = fails_closed ? std::optional<std::string>("true") : std::nullopt});
}

std::string Agent::why_not_ready() const {
  const Parts& parts = *parts_;
  if (!parts.pods.fresh()) return "the pods of the node are not listed";
  if (!parts.monitor.has_read()) return "the GPU driver has not answered yet";
  if (!parts.monitor.is_alive()) return "a call of the GPU driver does not return";
  if (!parts.enforcement.state().is_connected) return "the container runtime is not connected";
  if (!parts.published) return "the inventory is not written to the node";
  return "";
}

std::string Agent::listening_line() const {
  return "listening admin=" + http::address_text(options_.listen.host, parts_->admin->port());
}

void Agent::stop() {
  Parts& parts = *parts_;
  if (parts.stopping.exchange(true)) return;
  parts.ticker.reset();
  parts.probe_plugin.reset();
  parts.plugin.stop();
  if (parts.node_pods) parts.node_pods->stop();
  if (parts.device_thread.joinable()) parts.device_thread.join();
  if (parts.admin) parts.admin->stop();
}

}  // namespace snug::agent_app
