// Requests whose replies stream in: each on a connection of its own, ended by stop() from another
// thread, or by a watchdog when it lasts too long. run() and wait() belong to one thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "adapters/kube/connection.hpp"
#include "adapters/kube/credentials.hpp"

namespace snug {

class StreamClient {
 public:
  StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);
  ~StreamClient();
  StreamClient(const StreamClient&) = delete;
  StreamClient& operator=(const StreamClient&) = delete;

  struct Call {
    std::string what;                   // in the metrics
    std::string target;                 // path and query
    std::string accept;                 // media types
    std::chrono::milliseconds silence;  // longest wait for a byte
    std::chrono::seconds total;         // longest time until the end of the reply
  };
  /// After a 401 once more, if the credentials changed. Reports no status where no request left.
  [[nodiscard]] ApiExchange run(const Call& call, const ReplyHandlers& handlers);
  /// False: stopped or interrupted meanwhile.
  bool wait(std::chrono::milliseconds time);

  /// Ends the exchange or wait that is under way, or else the next one, from any thread.
  void interrupt();
  [[nodiscard]] bool interrupted() const;
  /// Whether interrupt() was called since the last call of this; what runs next is not ended by it.
  [[nodiscard]] bool take_interrupt();

  /// From any thread, again and again until the thread of run() is seen to end: an abort that falls
  /// between the making of a socket and its connect does nothing.
  void stop();
  [[nodiscard]] bool stopped() const;

 private:
  [[nodiscard]] ApiExchange run_once(const Call& call, const CredentialView& view,
                                     const ReplyHandlers& handlers);
  void watch_deadline();

  const ApiEndpoint endpoint_;
  const std::chrono::milliseconds connect_time_;
  Metrics& metrics_;
  Credentials credentials_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  ApiConnection* running_ = nullptr;
  std::chrono::steady_clock::time_point next_abort_;  // of what is running
  bool overdue_ = false;                              // what is running has been aborted
  bool interrupted_ = false;
  bool stopped_ = false;
  std::thread watchdog_;
};

}  // namespace snug
