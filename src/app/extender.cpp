#include "app/extender.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <utility>

#include "app/admin_tls.hpp"
#include "app/policy_file.hpp"
#include "app/routes.hpp"
#include "app/service_core.hpp"
#include "app/webhook.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/adapters/kube/kube_access.hpp"
#include "snug/adapters/kube/kube_api.hpp"
#include "snug/adapters/kube/kube_heartbeats.hpp"
#include "snug/adapters/kube/kube_lease.hpp"
#include "snug/adapters/kube/kube_source.hpp"
#include "snug/adapters/kube/kube_webhook.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/log.hpp"
#include "snug/adapters/obs/metrics.hpp"
#include "snug/base/text.hpp"
#include "snug/base/version.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/config/files.hpp"
#include "snug/service/admin_access.hpp"
#include "snug/service/leader_elector.hpp"
#include "snug/service/policy_store.hpp"
#include "snug/service/ticker.hpp"

namespace snug::app {
namespace {

/// Interval of the ticker. It is far shorter than the intervals of the work that the ticker does.
constexpr std::chrono::milliseconds kLedgerTick{50};
/// Interval of PodEvents::tick(), in a thread of its own, since it computes explanations.
constexpr std::chrono::milliseconds kEventTick{100};
/// Interval of LeaderElector::tick(), which does what is due, such as renewing the Lease.
constexpr std::chrono::milliseconds kElectionTick{20};
constexpr const char* kFlagsOutsideOfAPod =
    "--kubeconfig FILE, or --cluster FILE for the embedded mode";

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns this process's identity in the leader election: HOST_SUFFIX, as in client-go. The suffix
/// is the pod's uid if it is known, so that a restarted container has the identity of the container
/// that it replaces. Otherwise the suffix is made from `seed`.
std::string identity(std::uint64_t seed) {
  std::array<char, 256> host_name{};
  if (::gethostname(host_name.data(), host_name.size() - 1) != 0) host_name[0] = '\0';
  const std::string pod_uid = environment_variable("POD_UID");
  return std::string(host_name.data()) + "_" + (pod_uid.empty() ? base::hex_number(seed) : pod_uid);
}

}  // namespace

/// The parts of the program, in the order of construction. A part may use the parts before it.
struct Extender::Parts {
  explicit Parts(const config::Options& options)
      : log(options.log),
        metrics(obs::make_prometheus_metrics(
            {.version = base::version(),
             .gpu_series = options.gpu_metrics,
             .max_gpus = static_cast<std::size_t>(options.limits.max_gpu_series),
             .max_namespaces = static_cast<std::size_t>(options.limits.max_namespace_series)})) {}

  base::SteadyClock clock;
  base::SystemClock wall_clock;
  obs::SpdlogLog log;
  const std::unique_ptr<obs::PrometheusMetrics> metrics;
  std::unique_ptr<memory::MemoryApi> memory;  // in embedded mode only
  std::unique_ptr<kube::KubeApi> kube_api;
  std::unique_ptr<kube::KubeSource> kube_source;
  // Null in embedded mode, and with removeMirrors.
  std::unique_ptr<kube::KubeHeartbeats> heartbeats;
  std::unique_ptr<kube::KubeLease> lease;            // null: no leader election
  std::unique_ptr<kube::KubeLease> scheduler_lease;  // null: no scheduler's Lease is configured
  base::TimePoint source_starts;
  bool source_started = false;
  bool stopped = false;
  std::unique_ptr<PolicyFile> policy_file;
  std::unique_ptr<service::PolicyStore> policy_store;
  std::unique_ptr<ServiceCore> core;
  std::unique_ptr<http::ExtenderServer> extender;
  std::unique_ptr<kube::KubeAccess> kube_access;       // null unless adminAuth is kubernetes
  std::unique_ptr<service::AdminAccess> admin_access;  // null: every client may read everything
  std::unique_ptr<http::AdminServer> admin;
  std::atomic<bool> mirrors_removed = false;
  std::unique_ptr<Webhook> webhook;  // null: there is none
  bool logged_ready = false;         // used only by the ticker's thread
  std::unique_ptr<service::Ticker> ticker;
  std::unique_ptr<service::Ticker> event_ticker;
  std::unique_ptr<service::LeaderElector> elector;  // null: no leader election
  std::unique_ptr<service::Ticker> election_ticker;

  service::ApiPort& api() { return memory ? static_cast<service::ApiPort&>(*memory) : *kube_api; }
  service::ClusterSource& source() {
    return memory ? static_cast<service::ClusterSource&>(*memory) : *kube_source;
  }
};

Extender::Extender(config::Options options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>(options_)) {}

Extender::~Extender() { stop(); }

base::Result<void> Extender::open_policy() {
  parts_->policy_file = std::make_unique<PolicyFile>(
      options_.policy,
      PolicyFile::Context{options_.limits, *parts_->metrics, parts_->log, parts_->clock});
  base::Result<service::LoadedPolicy> policy = parts_->policy_file->open();
  if (!policy) return std::unexpected(policy.error());
  parts_->policy_store = std::make_unique<service::PolicyStore>(*std::move(policy));
  return {};
}

base::Result<void> Extender::open_memory() {
  codec::Manifests manifests;
  for (const std::string& path : options_.cluster) {
    const base::Result<std::string> manifest_text =
        config::read_file(path, options_.limits.max_manifest_bytes);
    if (!manifest_text) return std::unexpected(manifest_text.error());
    base::Result<codec::Manifests> file_manifests =
        codec::read_manifests(*manifest_text, path, options_.limits);
    if (!file_manifests) return std::unexpected(file_manifests.error());
    const base::Result<void> append_result =
        codec::append(manifests, *std::move(file_manifests), path);
    if (!append_result) return append_result;
  }
  parts_->memory = std::make_unique<memory::MemoryApi>(std::move(manifests), options_.limits);
  return {};
}

base::Result<void> Extender::open_kubernetes() {
  const base::Result<kube::ApiEndpoint> endpoint =
      options_.kubeconfig.empty() ? kube::in_cluster(options_.limits, kFlagsOutsideOfAPod)
                                  : kube::load_kubeconfig(options_.kubeconfig, options_.limits);
  if (!endpoint) return std::unexpected(endpoint.error());
  const kube::KubeOptions kube_options{.api_timeout = options_.api_timeout,
                                       .own_namespace = environment_variable("POD_NAMESPACE"),
                                       .own_pod = environment_variable("POD_NAME"),
                                       .kubernetes_minor = options_.kubernetes_minor,
                                       .seed = random_seed()};
  const kube::KubeContext kube_context{options_.limits, *parts_->metrics, parts_->log,
                                       parts_->clock};
  parts_->kube_api = std::make_unique<kube::KubeApi>(*endpoint, kube_options, kube_context);
  parts_->kube_source = std::make_unique<kube::KubeSource>(*endpoint, kube_options, kube_context);
  // The account of a Snug that only removes mirrors may not read them, and places no pod.
  if (!options_.remove_mirrors)
    parts_->heartbeats = std::make_unique<kube::KubeHeartbeats>(
        *endpoint, kube_options, kube_context, options_.lease.name_space);
  if (!options_.webhook_listen.host.empty()) {
    const std::string own_namespace =
        kube_options.own_namespace.empty() ? options_.lease.name_space : kube_options.own_namespace;
    parts_->webhook = std::make_unique<Webhook>(
        options_, own_namespace,
        std::make_unique<kube::KubeWebhook>(*endpoint, kube_options, kube_context, own_namespace),
        *parts_->metrics, parts_->log, parts_->clock);
  }
  if (options_.admin_auth == config::AdminAuth::kKubernetes) {
    parts_->kube_access = std::make_unique<kube::KubeAccess>(*endpoint, kube_options, kube_context);
    parts_->admin_access = std::make_unique<service::ReviewedAccess>(
        service::ReviewedAccess::Parts{*parts_->kube_access, parts_->log, parts_->clock},
        options_.limits, service::ReviewedAccess::Options{.tenants = options_.admin_tenants});
  }
  parts_->source_starts = parts_->clock.now();
  if (!options_.leader_elect) {
    // A previous process may have died during a bind. Wait until that bind can no longer be
    // executed.
    parts_->source_starts += leader::unanswered_window(options_.api_timeout, options_.limits);
    return {};
  }
  const auto open_lease = [&](const leader::LeaseName& lease_name) {
    return std::make_unique<kube::KubeLease>(*endpoint, kube_options, kube_context, lease_name);
  };
  parts_->lease = open_lease(options_.lease);
  if (!options_.scheduler_lease.name.empty()) {
    parts_->scheduler_lease = open_lease(options_.scheduler_lease);
  }
  return {};
}

void Extender::open_election() {
  if (!parts_->lease) return;
  const std::uint64_t seed = random_seed();
  identity_ = identity(seed);
  const leader::ElectionSettings election_settings =
      leader::election_settings(identity_, options_.api_timeout, options_.limits);
  const std::string own_pod = environment_variable("POD_NAME");
  const model::Notice event_object =
      own_pod.empty() ? model::Notice{.name_space = options_.lease.name_space,
                                      .name = options_.lease.name,
                                      .about = model::ObjectKind::kLease}
                      : model::Notice{.name_space = environment_variable("POD_NAMESPACE"),
                                      .name = own_pod,
                                      .uid = environment_variable("POD_UID")};
  ServiceCore& core = *parts_->core;
  parts_->elector = std::make_unique<service::LeaderElector>(
      service::ElectorParts{*parts_->lease, parts_->scheduler_lease.get(), core.readiness,
                            core.fence, parts_->source(), parts_->api(), parts_->log,
                            parts_->clock},
      service::ElectorOptions{.lease_name = options_.lease.name_space + "/" + options_.lease.name,
                              .election = election_settings,
                              .retry = std::chrono::milliseconds(options_.limits.lease_retry_ms),
                              .about = event_object,
                              .seed = seed});
}

void Extender::start_election() {
  if (!parts_->elector) return;
  parts_->lease->start_watch(parts_->elector->lease_sink());
  if (parts_->scheduler_lease) {
    parts_->scheduler_lease->start_watch(parts_->elector->scheduler_sink());
  }
  parts_->election_ticker = std::make_unique<service::Ticker>(
      "election", kElectionTick, parts_->log, [this] { parts_->elector->tick(); });
}

base::Result<void> Extender::start() {
  if (const base::Result<void> policy_opened = open_policy(); !policy_opened) return policy_opened;
  const base::Result<void> api_opened =
      options_.cluster.empty() ? open_kubernetes() : open_memory();
  if (!api_opened) return api_opened;
  parts_->core = std::make_unique<ServiceCore>(
      CorePorts{*parts_->policy_store, parts_->api(), *parts_->metrics, parts_->log, parts_->clock,
                parts_->wall_clock, parts_->memory.get(), parts_->heartbeats != nullptr},
      options_);
  parts_->policy_file->attach_store(*parts_->policy_store,
                                    [this] { parts_->core->ledger.policy_changed(); });
  if (!options_.remove_mirrors) {
    const base::Result<void> ports_opened = serve();
    if (!ports_opened) return ports_opened;
  }
  open_election();
  start_source();
  start_election();
  parts_->log.write(service::LogLevel::kInfo,
                    base::version_of("snug-extender") + " starts: answer " +
                        std::string(config::answer_mode_name(options_.answer)) + ", policy " +
                        parts_->policy_store->current().policy->default_profile_name +
                        (options_.cluster.empty() ? ", a real API server" : ", embedded mode"));
  if (options_.cluster.empty()) parts_->log.write(service::LogLevel::kInfo, election_log_line());
  warn_of_open_port();
  parts_->ticker =
      std::make_unique<service::Ticker>("ledger", kLedgerTick, parts_->log, [this] { tick(); });
  if (options_.remove_mirrors) return {};
  parts_->event_ticker = std::make_unique<service::Ticker>("events", kEventTick, parts_->log,
                                                           [this] { parts_->core->events.tick(); });
  return {};
}

void Extender::warn_of_open_port() const {
  if (options_.remove_mirrors || !config::is_reachable_unauthenticated(options_)) return;
  parts_->log.write(service::LogLevel::kWarn,
                    "the extender port " +
                        http::address_text(options_.listen.host, parts_->extender->port()) +
                        " is not on the loopback interface and requires no client certificate: "
                        "any client that can reach it can bind pods; set clientCA, tlsCert and "
                        "tlsKey, or listen on 127.0.0.1");
}

std::string Extender::election_log_line() const {
  if (!options_.leader_elect)
    return "leader election is off: no other Snug may run in this cluster";
  const auto lease_text = [](const leader::LeaseName& lease_name) {
    return lease_name.name_space + "/" + lease_name.name;
  };
  std::string election_line =
      "leader election by the Lease " + lease_text(options_.lease) + " as " + identity_;
  if (options_.scheduler_lease.name.empty()) return election_line;
  return election_line + "; this Snug leads only if no scheduler on another host holds the Lease " +
         lease_text(options_.scheduler_lease);
}

void Extender::start_source() {
  if (parts_->source_started || parts_->clock.now() < parts_->source_starts) return;
  parts_->source_started = true;
  parts_->source().start(parts_->core->reconciler);
  if (parts_->heartbeats) parts_->heartbeats->start_watch(parts_->core->heartbeats);
}

void Extender::log_readiness() {
  const service::Readiness& readiness = parts_->core->readiness;
  const bool is_ready = readiness.is_ready();
  if (is_ready == parts_->logged_ready) return;
  parts_->logged_ready = is_ready;
  if (is_ready) {
    parts_->log.write(service::LogLevel::kInfo, "ready: nodes and pods are listed");
  } else if (readiness.is_leader()) {
    parts_->log.write(service::LogLevel::kWarn, "not ready: " + readiness.why_not());
  }
}

void Extender::tick() {
  start_source();
  parts_->policy_file->poll();
  if (!options_.remove_mirrors) {
    parts_->core->reconciler.tick();
  } else if (parts_->core->reconciler.remove_mirrors() && !parts_->mirrors_removed.exchange(true)) {
    parts_->log.write(service::LogLevel::kInfo,
                      "no node has a resource that mirrors shares, and the MirrorParameters are "
                      "deleted");
  }
  parts_->core->usage.tick();
  log_readiness();
}

base::Result<void> Extender::serve() {
  Parts& parts = *parts_;
  const auto on_problem = [&parts](std::string_view problem) {
    parts.log.write(service::LogLevel::kWarn, problem);
  };
  std::optional<http::TlsFiles> tls_files;
  if (!options_.tls_cert.empty()) {
    tls_files = http::TlsFiles{options_.tls_cert, options_.tls_key, options_.client_ca,
                               options_.client_names};
  }
  parts.extender = std::make_unique<http::ExtenderServer>(
      extender_handlers(parts.core->service),
      http::HttpOptions{options_.listen.host, options_.listen.port, tls_files, on_problem},
      options_.limits);
  if (base::Result<void> admin_opened = open_admin(on_problem); !admin_opened) return admin_opened;
  if (base::Result<void> port_started = parts.extender->start(); !port_started) return port_started;
  if (base::Result<void> port_started = parts.admin->start(); !port_started) return port_started;
  return parts.webhook ? parts.webhook->start() : base::Result<void>{};
}

base::Result<void> Extender::open_admin(const std::function<void(std::string_view)>& on_problem) {
  Parts& parts = *parts_;
  if (options_.admin_auth == config::AdminAuth::kToken) {
    const auto read_token = [this]() -> base::Result<std::string> {
      // Reading a pipe could wait for ever.
      std::error_code error;
      if (std::filesystem::is_other(options_.admin_token_file, error)) {
        return base::fail(
            base::ErrorCode::kInvalid,
            "adminTokenFile: " + options_.admin_token_file + ": must be a regular file");
      }
      auto token = config::read_token_file(options_.admin_token_file, options_.limits);
      if (!token) return base::fail(token.error().code, "adminTokenFile: " + token.error().message);
      return token;
    };
    if (const auto token = read_token(); !token) return std::unexpected(token.error());
    parts.admin_access = std::make_unique<service::TokenAccess>(read_token, parts.log);
  }
  base::Result<http::HttpOptions> http_options =
      with_admin_tls(http::HttpOptions{.host = options_.admin_listen.host,
                                       .port = options_.admin_listen.port,
                                       .on_problem = on_problem},
                     options_, parts.wall_clock);
  if (!http_options) return std::unexpected(http_options.error());
  parts.admin = std::make_unique<http::AdminServer>(
      admin_routes(*parts.core, *parts.metrics, parts.memory.get()), parts.admin_access.get(),
      *std::move(http_options), options_.limits);
  return {};
}

bool Extender::mirrors_are_removed() const { return parts_->mirrors_removed; }

std::string Extender::listening_line() const {
  return "listening extender=" +
         http::address_text(options_.listen.host, parts_->extender->port()) +
         " admin=" + http::address_text(options_.admin_listen.host, parts_->admin->port()) +
         (parts_->webhook == nullptr
              ? ""
              : " webhook=" +
                    http::address_text(options_.webhook_listen.host, parts_->webhook->port()));
}

void Extender::reload_policy() { parts_->policy_file->reload(); }

void Extender::stop() {
  if (!parts_->core || std::exchange(parts_->stopped, true)) return;
  const std::chrono::milliseconds drain_time(options_.limits.drain_ms);
  const base::TimePoint linger_end =
      parts_->clock.now() + std::chrono::milliseconds(options_.limits.webhook_linger_ms);
  // Asks the election to release the Lease as soon as the last bind is answered, without waiting
  // for other requests.
  if (parts_->elector) parts_->elector->resign();
  if (parts_->extender) {
    parts_->extender->drain(drain_time);
    parts_->extender->stop();
  }
  if (parts_->election_ticker) {
    const std::chrono::milliseconds unanswered_window =
        leader::unanswered_window(options_.api_timeout, options_.limits);
    parts_->elector->wait_resigned(std::max(drain_time, unanswered_window));
  }
  // A Service may send calls to this Snug for some time after it has begun to stop.
  if (parts_->webhook) parts_->webhook->stop(linger_end, drain_time);
  if (parts_->admin) parts_->admin->stop();
  parts_->election_ticker.reset();
  parts_->event_ticker.reset();
  parts_->ticker.reset();
  if (parts_->lease) parts_->lease->stop_watch();
  if (parts_->scheduler_lease) parts_->scheduler_lease->stop_watch();
  if (parts_->heartbeats) parts_->heartbeats->stop_watch();
  parts_->source().stop();
}

}  // namespace snug::app
