// Requests whose replies stream in: each on a connection of its own, ended by stop() from another
// thread. run() and wait() belong to one thread.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "adapters/kube/connection.hpp"
#include "adapters/kube/credentials.hpp"

namespace snug {

class StreamClient {
 public:
  StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);

  struct Call {
    std::string what;    // in the metrics
    std::string target;  // path and query
    std::chrono::milliseconds silence;
  };
  /// After a 401 once more, if the credentials changed. Reports no status where no request left.
  [[nodiscard]] ApiExchange run(const Call& call, const ReplyHandlers& handlers);
  /// False: stopped meanwhile.
  bool wait(std::chrono::milliseconds time);

  /// From any thread, again and again until the thread of run() is seen to end: an abort that falls
  /// between the making of a socket and its connect does nothing.
  void stop();
  [[nodiscard]] bool stopped() const;

 private:
  [[nodiscard]] ApiExchange run_once(const Call& call, const CredentialView& view,
                                     const ReplyHandlers& handlers);

  const ApiEndpoint endpoint_;
  const std::chrono::milliseconds connect_time_;
  Metrics& metrics_;
  Credentials credentials_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  ApiConnection* running_ = nullptr;
  bool stopped_ = false;
};

}  // namespace snug
