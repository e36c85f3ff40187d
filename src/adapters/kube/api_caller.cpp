#include "adapters/kube/api_caller.hpp"

#include <chrono>
#include <cstdint>

namespace snug::kube {

ApiCaller::ApiCaller(const ApiEndpoint& endpoint, const KubeOptions& options,
                     const KubeContext& context)
    : api_timeout_(options.api_timeout),
      max_reply_bytes_(static_cast<std::size_t>(context.limits.max_object_bytes)),
      metrics_(context.metrics),
      clock_(context.clock),
      credentials_(endpoint, context),
      connection_pool_(endpoint,
                       {static_cast<std::size_t>(context.limits.api_connections), api_timeout_,
                        std::chrono::milliseconds(context.limits.api_idle_ms)}) {}

base::Result<ApiReply> ApiCaller::call_until(CallDeadline deadline, service::ApiCall api_call,
                                             const ApiRequest& request) {
  for (bool is_second_call = false;; is_second_call = true) {
    const auto credentials = credentials_.view();
    if (!credentials) return std::unexpected(credentials.error());
    const base::TimePoint call_start = clock_.now();
    auto call_attempt = try_call(request, *credentials, deadline);
    const std::int64_t microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - call_start).count();
    if (!call_attempt) {
      metrics_.api_request(api_call, false, microseconds);
      return std::unexpected(call_attempt.error());
    }
    const int reply_status = call_attempt->exchange.status;
    const bool ok = reply_status < 400 || (reply_status == 404 && request.may_be_absent);
    metrics_.api_request(api_call, call_attempt->exchange.complete && ok, microseconds);
    if (reply_status != 401 || is_second_call || !credentials_.renew(*credentials)) {
      return reply_or_error(request, *std::move(call_attempt), deadline);
    }
  }
}

base::Result<ApiCaller::CallAttempt> ApiCaller::try_call(const ApiRequest& request,
                                                         const CredentialView& credentials,
                                                         CallDeadline deadline) {
  auto first_attempt = try_call_once(request, credentials, deadline, false);
  if (!first_attempt || !first_attempt->exchange.stale) return first_attempt;
  return try_call_once(request, credentials, deadline, true);
}

base::Result<ApiCaller::CallAttempt> ApiCaller::try_call_once(const ApiRequest& request,
                                                              const CredentialView& credentials,
                                                              CallDeadline deadline,
                                                              bool must_be_new) {
  auto lent_connection = connection_pool_.take(credentials.tls, deadline, must_be_new);
  if (!lent_connection) return std::unexpected(lent_connection.error());
  CallAttempt call_attempt;
  ReplyHandlers reply_handlers;
  reply_handlers.on_piece = [this, &call_attempt](std::string_view body_piece) {
    call_attempt.body_too_large =
        call_attempt.reply_body.size() + body_piece.size() > max_reply_bytes_;
    if (!call_attempt.body_too_large) call_attempt.reply_body += body_piece;
    return !call_attempt.body_too_large;
  };
  call_attempt.exchange =
      (*lent_connection)->run(request, credentials.token, reply_handlers, deadline);
  if (!call_attempt.exchange.complete) lent_connection->spoil();
  return call_attempt;
}

base::Result<ApiReply> ApiCaller::reply_or_error(const ApiRequest& request,
                                                 CallAttempt&& call_attempt,
                                                 CallDeadline deadline) const {
  const ApiExchange& exchange = call_attempt.exchange;
  if (call_attempt.body_too_large) {
    return base::fail(base::ErrorCode::kTooLarge, "the API server's reply is larger than " +
                                                      std::to_string(max_reply_bytes_) + " bytes");
  }
  // If the request failed (4xx, 5xx) or a write succeeded (2xx), the status is enough; the body may
  // be incomplete.
  const bool outcome_is_known =
      exchange.status >= 400 || (exchange.success() && request.method != "GET");
  if (exchange.complete || outcome_is_known) {
    ApiReply reply{exchange.status, exchange.body};
    if (exchange.success()) reply.body = std::move(call_attempt.reply_body);
    return reply;
  }
  const bool is_past_deadline = std::chrono::steady_clock::now() >= deadline;
  const std::string failure_cause =
      is_past_deadline ? "it did not answer within " + std::to_string(api_timeout_.count()) + " ms"
                       : exchange.why;
  const bool write_may_have_run = exchange.sent && request.method != "GET";
  return base::fail(write_may_have_run ? base::ErrorCode::kUnknown : base::ErrorCode::kUnavailable,
                    "the call to the API server failed: " + failure_cause);
}

}  // namespace snug::kube
