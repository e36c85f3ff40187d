// The port that kube-scheduler calls: POST /filter, /prioritize, /preempt and /bind. A request
// comes in whole and within its bounds, or is refused with a sentence in the verb's shape, after
// which its connection is closed, so that what is left of it is never read as another request.
//
// One thread for each request whose head has come, started on demand up to limits.max_connections;
// further requests wait. When limits.max_queued_connections further connections are open, a new
// one closes an older one. Handlers are called from these threads, any number at once. The server's
// own functions are called from one thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/service/ports.hpp"

namespace snug {

/// Each gets the request's body, which is never empty and may be changed.
struct ExtenderHandlers {
  std::function<Reply(std::string& body)> filter;
  std::function<Reply(std::string& body)> prioritize;
  std::function<Reply(std::string& body)> preempt;
  std::function<Reply(std::string& body)> bind;
};

class ExtenderServer {
 public:
  ExtenderServer(ExtenderHandlers handlers, HttpOptions options, const Limits& limits);
  ~ExtenderServer();
  ExtenderServer(const ExtenderServer&) = delete;
  ExtenderServer& operator=(const ExtenderServer&) = delete;

  /// Binds, listens and serves. The error names the address or the file.
  [[nodiscard]] Result<void> start();
  /// The port in use; after start().
  [[nodiscard]] int port() const;
  /// Accepts no more connections and waits, at most so long, for the requests that came already;
  /// idle connections are closed. True: all of them have their replies.
  bool drain(std::chrono::milliseconds at_most);
  /// Cuts every connection and returns when no handler runs any more.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug
