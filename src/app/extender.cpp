#include "app/extender.hpp"

#include <cstdlib>
#include <random>
#include <string>
#include <utility>

#include "app/core.hpp"
#include "app/files.hpp"
#include "app/option_rows.hpp"
#include "app/policy_file.hpp"
#include "app/routes.hpp"
#include "app/ticker.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/adapters/kube/kube_api.hpp"
#include "snug/adapters/kube/kube_source.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/log.hpp"
#include "snug/adapters/obs/metrics.hpp"
#include "snug/codec/manifests.hpp"
#include "snug/service/policy_store.hpp"

namespace snug {
namespace {

/// The grain of what the limits bound in milliseconds; none of them is small enough to feel it.
constexpr std::chrono::milliseconds kTick{50};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

/// In the order of construction: what comes later uses what came before.
struct Extender::Parts {
  explicit Parts(const LogOptions& log_options) : log(log_options) {}

  SteadyClock clock;
  SpdlogLog log;
  PrometheusMetrics metrics;
  std::unique_ptr<MemoryApi> memory;  // embedded mode; else the two below
  std::unique_ptr<KubeApi> kube_api;
  std::unique_ptr<KubeSource> kube_source;
  std::unique_ptr<PolicyFile> policy_file;
  std::unique_ptr<PolicyStore> policy_store;
  std::unique_ptr<Core> core;
  std::unique_ptr<ExtenderServer> extender;
  std::unique_ptr<AdminServer> admin;
  bool said_ready = false;  // the ticker's
  std::unique_ptr<Ticker> ticker;

  ApiPort& api() { return memory ? static_cast<ApiPort&>(*memory) : *kube_api; }
  ClusterSource& source() { return memory ? static_cast<ClusterSource&>(*memory) : *kube_source; }
};

Extender::Extender(Options options)
    : options_(std::move(options)), parts_(std::make_unique<Parts>(options_.log)) {}

Extender::~Extender() { stop(); }

Result<void> Extender::open_policy() {
  parts_->policy_file = std::make_unique<PolicyFile>(
      options_.policy,
      PolicyFile::Context{options_.limits, parts_->metrics, parts_->log, parts_->clock});
  Result<PolicyPtr> policy = parts_->policy_file->open();
  if (!policy) return std::unexpected(policy.error());
  parts_->policy_store = std::make_unique<PolicyStore>(*std::move(policy));
  return {};
}

Result<void> Extender::open_memory() {
  Manifests all;
  for (const std::string& path : options_.cluster) {
    const Result<std::string> text = read_file(path, options_.limits.max_manifest_bytes);
    if (!text) return std::unexpected(text.error());
    Result<Manifests> read = read_manifests(*text, path, options_.limits);
    if (!read) return std::unexpected(read.error());
    const Result<void> added = append(all, *std::move(read), path);
    if (!added) return added;
  }
  parts_->memory = std::make_unique<MemoryApi>(std::move(all), options_.limits);
  return {};
}

Result<void> Extender::open_kubernetes() {
  const Result<ApiEndpoint> endpoint = options_.kubeconfig.empty()
                                           ? in_cluster(options_.limits)
                                           : load_kubeconfig(options_.kubeconfig, options_.limits);
  if (!endpoint) return std::unexpected(endpoint.error());
  const KubeOptions kube{.api_timeout = options_.api_timeout,
                         .own_namespace = environment("POD_NAMESPACE"),
                         .own_pod = environment("POD_NAME"),
                         .seed = std::random_device{}()};
  const KubeContext context{options_.limits, parts_->metrics, parts_->log, parts_->clock};
  parts_->kube_api = std::make_unique<KubeApi>(*endpoint, kube, context);
  parts_->kube_source = std::make_unique<KubeSource>(*endpoint, kube, context);
  return {};
}

Result<void> Extender::start() {
  if (const Result<void> opened = open_policy(); !opened) return opened;
  const Result<void> opened = options_.cluster.empty() ? open_kubernetes() : open_memory();
  if (!opened) return opened;
  const ServiceOptions service{.answer = options_.answer,
                               .kubernetes_minor = options_.kubernetes_minor,
                               .scheduler_names = options_.scheduler_names,
                               .limits = options_.limits};
  parts_->core =
      std::make_unique<Core>(CorePorts{*parts_->policy_store, parts_->api(), parts_->metrics,
                                       parts_->log, parts_->clock, parts_->memory.get()},
                             service);
  parts_->policy_file->feed(*parts_->policy_store,
                            [this] { parts_->core->ledger.policy_changed(); });
  const Result<void> serving = serve();
  if (!serving) return serving;
  parts_->source().start(parts_->core->reconciler);
  parts_->log.write(LogLevel::kInfo,
                    "snug-extender " SNUG_VERSION " starts: answer " +
                        std::string(answer_word(options_.answer)) + ", policy " +
                        parts_->policy_store->current().policy->default_profile +
                        (options_.cluster.empty() ? ", a real API server" : ", embedded mode"));
  if (open_to_all(options_)) {
    parts_->log.write(LogLevel::kWarn,
                      "the extender port " +
                          address_text(options_.listen.host, parts_->extender->port()) +
                          " is not on the loopback interface and asks for no client certificate: "
                          "whoever reaches it can bind pods; set clientCA, tlsCert and tlsKey, or "
                          "listen on 127.0.0.1");
  }
  parts_->ticker = std::make_unique<Ticker>(kTick, [this] { tick(); });
  return {};
}

void Extender::tick() {
  try {
    parts_->policy_file->poll();
    parts_->core->reconciler.tick();
    if (!parts_->said_ready && parts_->core->readiness.ready()) {
      parts_->said_ready = true;
      parts_->log.write(LogLevel::kInfo, "ready: the lists of nodes and pods are in");
    }
  } catch (const std::exception& problem) {
    // What is due comes again with the next tick; the process serves on.
    parts_->log.write(LogLevel::kError, std::string("a tick failed: ") + problem.what());
  }
}

Result<void> Extender::serve() {
  Parts& parts = *parts_;
  const auto on_problem = [&parts](std::string_view what) {
    parts.log.write(LogLevel::kWarn, what);
  };
  std::optional<TlsFiles> tls;
  if (!options_.tls_cert.empty()) {
    tls = TlsFiles{options_.tls_cert, options_.tls_key, options_.client_ca};
  }
  parts.extender = std::make_unique<ExtenderServer>(
      extender_handlers(parts.core->service),
      HttpOptions{options_.listen.host, options_.listen.port, tls, on_problem}, options_.limits);
  parts.admin = std::make_unique<AdminServer>(
      admin_routes(*parts.core, parts.metrics, parts.memory.get()),
      HttpOptions{options_.admin_listen.host, options_.admin_listen.port, std::nullopt, on_problem},
      options_.limits);
  if (Result<void> started = parts.extender->start(); !started) return started;
  return parts.admin->start();
}

std::string Extender::listening() const {
  return "listening extender=" + address_text(options_.listen.host, parts_->extender->port()) +
         " admin=" + address_text(options_.admin_listen.host, parts_->admin->port());
}

void Extender::reload_policy() { parts_->policy_file->reload(); }

void Extender::stop() {
  if (!parts_->core) return;
  if (parts_->extender) {
    parts_->extender->drain(std::chrono::milliseconds(options_.limits.drain_ms));
    parts_->extender->stop();
  }
  if (parts_->admin) parts_->admin->stop();
  parts_->ticker.reset();
  parts_->source().stop();
}

}  // namespace snug
