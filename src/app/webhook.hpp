// The admission webhook as one part of the program: its port, the service that answers, and a
// thread that keeps its certificate. Used by one thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "snug/adapters/http/certificate_maker.hpp"
#include "snug/adapters/http/webhook_server.hpp"
#include "snug/config/options.hpp"
#include "snug/service/ticker.hpp"
#include "snug/service/webhook_keeper.hpp"

namespace snug::app {

class Webhook {
 public:
  /// The objects must outlive the Webhook. `name_space`: Snug's own, where its Service and its
  /// Secret are.
  Webhook(const config::Options& options, const std::string& name_space,
          std::unique_ptr<service::WebhookPort> api, service::Metrics& metrics, service::Log& log,
          const base::Clock& clock);

  /// Opens the port, and starts the thread. Connections are closed until there is a certificate.
  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const { return server_.port(); }
  /// Answers until `linger_end`, then accepts no more requests, waits for those in flight, and ends
  /// the thread.
  void stop(base::TimePoint linger_end, std::chrono::milliseconds drain_time);

 private:
  [[nodiscard]] http::HttpOptions http_options(const config::HostPort& address);

  service::Log& log_;
  const base::Clock& clock_;
  const base::SystemClock wall_clock_;
  const std::unique_ptr<service::WebhookPort> api_;
  http::OpensslCertificateMaker certificates_;
  service::AdmissionService admission_;
  service::WebhookKeeper keeper_;
  http::WebhookServer server_;
  std::unique_ptr<service::Ticker> ticker_;
};

}  // namespace snug::app
