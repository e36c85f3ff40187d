// The extender port, which kube-scheduler calls: POST /filter, /prioritize, /preempt and /bind. If
// a request is incomplete or exceeds a limit, the server sends an error reply in the verb's format
// and closes the connection, so that the rest of the request is never parsed as another request.
//
// Each request whose head is complete has a thread. The server starts threads on demand, up to
// limits.max_connections; further requests wait for a thread. If max_connections +
// max_queued_connections connections are open and a new one arrives, the server first closes one
// that has no thread. The threads call the handlers concurrently. The server's functions must be
// called from one thread.
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

/// One handler for each path. A handler gets the request's body, which is not empty and which the
/// handler may modify.
struct ExtenderHandlers {
  std::function<service::Reply(std::string& body)> filter;
  std::function<service::Reply(std::string& body)> prioritize;
  std::function<service::Reply(std::string& body)> preempt;
  std::function<service::Reply(std::string& body)> bind;
};

class ExtenderServer {
 public:
  ExtenderServer(ExtenderHandlers handlers, HttpOptions options, const base::Limits& limits);
  ~ExtenderServer();
  ExtenderServer(const ExtenderServer&) = delete;
  ExtenderServer& operator=(const ExtenderServer&) = delete;

  /// Listens on the address and starts to serve. The error message names the address, or the
  /// certificate file that cannot be used.
  [[nodiscard]] base::Result<void> start();
  /// Returns the TCP port. Valid after start().
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
