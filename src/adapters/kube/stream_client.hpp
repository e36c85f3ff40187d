// Requests whose replies stream in, each on a connection of its own. run(), wait() and
// take_interrupt() belong to one thread; the other functions may be called from any thread.
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
    std::string what;                   // in the metrics
    std::string target;                 // path and query
    std::string accept;                 // media types
    std::chrono::milliseconds silence;  // the longest wait for a byte
    std::chrono::seconds total;         // the longest time until the end of the reply
  };
  /// Repeats the request once after a 401 if the credentials changed. The exchange has no status if
  /// no request was sent.
  [[nodiscard]] ApiExchange run(const Call& call, const ReplyHandlers& handlers)
      SNUG_EXCLUDES(mutex_);
  /// False: it was stopped or interrupted meanwhile.
  bool wait(std::chrono::milliseconds time) SNUG_EXCLUDES(mutex_);

  /// Ends the exchange or wait under way, or else the next one.
  void interrupt() SNUG_EXCLUDES(mutex_);
  [[nodiscard]] bool interrupted() const SNUG_EXCLUDES(mutex_);
  /// Whether interrupt() was called since the last call of this. It does not end what runs next.
  [[nodiscard]] bool take_interrupt() SNUG_EXCLUDES(mutex_);

  /// Ends the exchange or wait under way and all later ones.
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
