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

  struct StreamCall {
    service::ApiCall api_call;              // for the metrics
    std::string target;                     // path and query, percent-encoded
    std::string accept;                     // value of the Accept header
    std::chrono::milliseconds max_silence;  // the longest wait for a byte
    std::chrono::seconds max_duration;      // the longest time until the end of the reply
  };
  /// Sends a GET for `stream_call` and returns when its reply has ended. After a 401, repeats the
  /// request once if the credentials have changed. The status is 0 if the request could not be
  /// sent.
  [[nodiscard]] ApiExchange run(const StreamCall& stream_call, const ReplyHandlers& handlers)
      SNUG_EXCLUDES(mutex_);
  /// Waits for `wait_time`. Returns false at once after stop() or interrupt().
  bool wait(std::chrono::milliseconds wait_time) SNUG_EXCLUDES(mutex_);

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
  [[nodiscard]] ApiExchange run_once(const StreamCall& stream_call,
                                     const CredentialView& credentials,
                                     const ReplyHandlers& reply_handlers) SNUG_EXCLUDES(mutex_);

  const ApiEndpoint endpoint_;
  const std::chrono::milliseconds connect_timeout_;
  service::Metrics& metrics_;
  const base::Clock& clock_;
  Credentials credentials_;

  mutable base::Mutex mutex_;
  base::Condition wait_interrupted_;
  ApiConnection* running_connection_ SNUG_GUARDED_BY(mutex_) = nullptr;
  bool interrupted_ SNUG_GUARDED_BY(mutex_) = false;
  bool stopped_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::kube
