// One call to the API server: credentials, a connection, the deadline, a second attempt after a 401
// or if the connection could not be used, and the count in the metrics. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "adapters/kube/connection_pool.hpp"
#include "adapters/kube/credentials.hpp"

namespace snug::kube {

struct ApiReply {
  int status = 0;
  std::string body;  // of a refusal its first bytes only
};

class ApiCaller {
 public:
  ApiCaller(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);

  /// A reply of any status. kUnavailable: the request did not reach the API server; kUnknown: it
  /// may have reached it; kTooLarge: it was carried out, and its reply is over the limit. `what`
  /// names the call in the metrics.
  [[nodiscard]] base::Result<ApiReply> call(std::string_view what, const ApiRequest& request) {
    return call_until(new_deadline(), what, request);
  }
  /// For several calls that share one deadline.
  [[nodiscard]] base::Result<ApiReply> call_until(CallDeadline deadline, std::string_view what,
                                                  const ApiRequest& request);
  [[nodiscard]] CallDeadline new_deadline() const {
    return std::chrono::steady_clock::now() + timeout_;
  }
  /// Ends all calls, also later ones.
  void abort_all() { pool_.abort_all(); }

 private:
  struct Attempt {
    ApiExchange exchange;
    std::string body;
    bool too_large = false;
  };

  [[nodiscard]] base::Result<Attempt> attempt(const ApiRequest& request, const CredentialView& view,
                                              CallDeadline deadline);
  [[nodiscard]] base::Result<Attempt> attempt_once(const ApiRequest& request,
                                                   const CredentialView& view,
                                                   CallDeadline deadline, bool fresh);
  [[nodiscard]] base::Result<ApiReply> conclude(const ApiRequest& request, Attempt&& attempt,
                                                CallDeadline deadline) const;

  const std::chrono::milliseconds timeout_;
  const std::size_t max_reply_bytes_;
  service::Metrics& metrics_;
  Credentials credentials_;
  ConnectionPool pool_;
};

}  // namespace snug::kube
