// The webhook port, which the API server calls over TLS: POST /mutate and /validate with an
// AdmissionReview. It refuses what the extender port refuses, with `{"Error":"..."}`.
//
// At most limits.max_webhook_connections requests have a thread at one time; further requests wait
// for one. The threads call the handlers concurrently. The server's functions must be called from
// one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/service/ports.hpp"

namespace snug::http {

/// A handler gets the request's body, which is not empty and which the handler may modify.
struct WebhookHandlers {
  std::function<service::Reply(std::string& body)> mutate;
  std::function<service::Reply(std::string& body)> validate;
};

class WebhookServer {
 public:
  WebhookServer(WebhookHandlers handlers, HttpOptions options, const base::Limits& limits);
  ~WebhookServer();
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;

  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const;
  /// Stops accepting connections, closes idle ones, and waits up to `at_most` for requests in
  /// flight. Returns whether all of them have ended.
  bool drain(std::chrono::milliseconds at_most);
  /// Closes every connection, and waits until no handler is running.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug::http
