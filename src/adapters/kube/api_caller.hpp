// Sends requests to the API server, with the current credentials, over a pool of connections, and
// counts them in the metrics. A request is sent a second time after a 401 if the credentials have
// changed, or on a new connection if a reused one held unexpected bytes. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "adapters/kube/connection_pool.hpp"
#include "adapters/kube/credentials.hpp"

namespace snug::kube {

struct ApiReply {
  int status = 0;
  std::string body;  // if the status is not 2xx, only the first bytes
};

class ApiCaller {
 public:
  ApiCaller(const ApiEndpoint& endpoint, const KubeOptions& options, const KubeContext& context);

  /// Sends `request` and returns the reply, whatever its status. `api_call` names the call in the
  /// metrics. Fails with kUnavailable if the request did not reach the API server or a GET got no
  /// complete reply; with kUnknown if a write may have reached the API server; with kTooLarge if
  /// the request succeeded, but its reply is larger than the limit.
  [[nodiscard]] base::Result<ApiReply> call(service::ApiCall api_call, const ApiRequest& request) {
    return call_until(new_deadline(), api_call, request);
  }
  /// Does the same as call() with the given deadline, which several calls can share.
  [[nodiscard]] base::Result<ApiReply> call_until(CallDeadline deadline, service::ApiCall api_call,
                                                  const ApiRequest& request);
  [[nodiscard]] CallDeadline new_deadline() const {
    return std::chrono::steady_clock::now() + api_timeout_;
  }
  /// Aborts all calls in progress and every later call.
  void abort_all() { connection_pool_.abort_all(); }

 private:
  struct CallAttempt {
    ApiExchange exchange;
    std::string reply_body;
    bool body_too_large = false;
  };

  [[nodiscard]] base::Result<CallAttempt> try_call(const ApiRequest& request,
                                                   const CredentialView& credentials,
                                                   CallDeadline deadline);
  [[nodiscard]] base::Result<CallAttempt> try_call_once(const ApiRequest& request,
                                                        const CredentialView& credentials,
                                                        CallDeadline deadline, bool must_be_new);
  [[nodiscard]] base::Result<ApiReply> reply_or_error(const ApiRequest& request,
                                                      CallAttempt&& call_attempt,
                                                      CallDeadline deadline) const;

  const std::chrono::milliseconds api_timeout_;
  const std::size_t max_reply_bytes_;
  service::Metrics& metrics_;
  const base::Clock& clock_;
  Credentials credentials_;
  ConnectionPool connection_pool_;
};

}  // namespace snug::kube
