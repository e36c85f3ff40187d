// Sends requests whose replies are streams, each on a new connection. Only one thread may call
// run(), wait() and take_interrupt(); any thread may call the other functions.
#pragma once

#include <chrono>
#include <string>

#include "adapters/kube/connection.hpp"
#include "adapters/kube/credentials.hpp"
#include "snug/base/mutex.hpp"

namespace snug::kube {

class StreamClient {
 public:
  StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  struct Call {
    service::ApiCall name;              // for the metrics
    std::string target;                 // path and query, percent-encoded
    std::string accept;                 // value of the Accept header
    std::chrono::milliseconds silence;  // the longest wait for a byte
    std::chrono::seconds total;         // the longest time until the end of the reply
  };
  /// Sends a GET for `call` and returns when its reply has ended. After a 401, repeats the request
  /// once if the credentials have changed. The status is 0 if the request could not be sent.
  [[nodiscard]] ApiExchange run(const Call& call, const ReplyHandlers& handlers)
      SNUG_EXCLUDES(mutex_);
  /// Waits for `time`. Returns false at once after stop() or interrupt().
  bool wait(std::chrono::milliseconds time) SNUG_EXCLUDES(mutex_);

  /// Ends the current run() or wait(), and each later one until take_interrupt() is called.
  void interrupt() SNUG_EXCLUDES(mutex_);
  [[nodiscard]] bool interrupted() const SNUG_EXCLUDES(mutex_);
  /// Returns whether interrupt() was called since the last take_interrupt(). After this call, that
  /// interrupt() no longer ends a run() or wait().
  [[nodiscard]] bool take_interrupt() SNUG_EXCLUDES(mutex_);

  /// Ends the current run() or wait() and every later one.
  void stop() SNUG_EXCLUDES(mutex_);
  [[nodiscard]] bool stopped() const SNUG_EXCLUDES(mutex_);

 private:
  [[nodiscard]] ApiExchange run_once(const Call& call, const CredentialView& view,
                                     const ReplyHandlers& handlers) SNUG_EXCLUDES(mutex_);

  const ApiEndpoint endpoint_;
  const std::chrono::milliseconds connect_time_;
  service::Metrics& metrics_;
  Credentials credentials_;

  mutable base::Mutex mutex_;
  base::Condition wake_;
  ApiConnection* running_ SNUG_GUARDED_BY(mutex_) = nullptr;
  bool interrupted_ SNUG_GUARDED_BY(mutex_) = false;
  bool stopped_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::kube
