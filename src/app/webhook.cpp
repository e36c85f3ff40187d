#include "app/webhook.hpp"

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace snug::app {
namespace {

/// Interval of WebhookKeeper::tick(), which does what is due.
constexpr std::chrono::milliseconds kWebhookTick{100};

admission::PodDefaults pod_defaults(const config::Options& options) {
  return {.scheduler = options.scheduler_names.empty() ? "" : options.scheduler_names.front(),
          .tolerations = options.pod_tolerations,
          .runtime_class = options.pod_runtime_class};
}

/// The API server on the same machine may call the webhook by its loopback address.
std::vector<std::string> own_addresses(const std::string& host) {
  if (host == "::1" || host.starts_with("127.")) return {host};
  return {};
}

}  // namespace

Webhook::Webhook(const config::Options& options, const std::string& name_space,
                 std::unique_ptr<service::WebhookPort> api, service::Metrics& metrics,
                 service::Log& log, const base::Clock& clock)
    : log_(log),
      clock_(clock),
      api_(std::move(api)),
      certificates_({"snug-webhook." + name_space + ".svc"},
                    own_addresses(options.webhook_listen.host)),
      admission_(pod_defaults(options), options.scheduler_names, metrics, options.limits),
      keeper_({*api_, certificates_, admission_, metrics, log, clock, wall_clock_}, options.limits),
      server_({.mutate = [this](std::string& body) { return admission_.mutate(body); },
               .validate = [this](std::string& body) { return admission_.validate(body); }},
              http_options(options.webhook_listen), options.limits) {}

http::HttpOptions Webhook::http_options(const config::HostPort& address) {
  return {.host = address.host,
          .port = address.port,
          .on_problem =
              [this](std::string_view problem) { log_.write(service::LogLevel::kWarn, problem); },
          .tls_identity = [this] { return keeper_.serving(); }};
}

base::Result<void> Webhook::start() {
  if (base::Result<void> started = server_.start(); !started) return started;
  ticker_ =
      std::make_unique<service::Ticker>("webhook", kWebhookTick, log_, [this] { keeper_.tick(); });
  return {};
}

void Webhook::stop(base::TimePoint linger_end, std::chrono::milliseconds drain_time) {
  std::this_thread::sleep_for(linger_end - clock_.now());
  server_.drain(drain_time);
  server_.stop();
  ticker_.reset();
}

}  // namespace snug::app
