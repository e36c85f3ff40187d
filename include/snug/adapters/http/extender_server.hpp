// The port that kube-scheduler calls: POST /filter, /prioritize, /preempt and /bind. A request
// that is incomplete or exceeds a limit is refused with an error reply in the verb's format. Then
// its connection is closed, so that the rest of the request is never read as another request.
//
// Each request whose head is complete has a thread; threads are started on demand, up to
// limits.max_connections, and further requests wait. If limits.max_queued_connections further
// connections are open, a new one closes an older one. Handlers are called concurrently from these
// threads. The server's functions must be called from one thread.
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

/// Each gets the request's body, which is never empty and may be changed.
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

  /// Binds, listens and serves. The error names the address or the file.
  [[nodiscard]] base::Result<void> start();
  /// The port in use; after start().
  [[nodiscard]] int port() const;
  /// Stops accepting connections, closes idle ones, and waits up to `at_most` for requests in
  /// flight. True: all of them have been answered.
  bool drain(std::chrono::milliseconds at_most);
  /// Closes every connection and returns when no handler is running.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug::http
