#include "adapters/kube/api_caller.hpp"

namespace snug::kube {

ApiCaller::ApiCaller(const ApiEndpoint& endpoint, const KubeOptions& options,
                     const KubeContext& context)
    : timeout_(options.api_timeout),
      max_reply_bytes_(static_cast<std::size_t>(context.limits.max_object_bytes)),
      metrics_(context.metrics),
      credentials_(endpoint, context),
      pool_(endpoint, {static_cast<std::size_t>(context.limits.api_connections), timeout_,
                       std::chrono::milliseconds(context.limits.api_idle_ms)}) {}

base::Result<ApiReply> ApiCaller::call_until(CallDeadline deadline, service::ApiCall name,
                                             const ApiRequest& request) {
  for (bool second = false;; second = true) {
    const auto view = credentials_.view();
    if (!view) return std::unexpected(view.error());
    auto made = attempt(request, *view, deadline);
    if (!made) {
      metrics_.api_request(name, false);
      return std::unexpected(made.error());
    }
    const int status = made->exchange.status;
    metrics_.api_request(name, made->exchange.complete && status < 400);
    if (status != 401 || second || !credentials_.renew(*view)) {
      return conclude(request, *std::move(made), deadline);
    }
  }
}

base::Result<ApiCaller::Attempt> ApiCaller::attempt(const ApiRequest& request,
                                                    const CredentialView& view,
                                                    CallDeadline deadline) {
  auto first = attempt_once(request, view, deadline, false);
  if (!first || !first->exchange.stale) return first;
  return attempt_once(request, view, deadline, true);
}

base::Result<ApiCaller::Attempt> ApiCaller::attempt_once(const ApiRequest& request,
                                                         const CredentialView& view,
                                                         CallDeadline deadline, bool fresh) {
  auto lease = pool_.take(view.tls, deadline, fresh);
  if (!lease) return std::unexpected(lease.error());
  Attempt made;
  ReplyHandlers handlers;
  handlers.on_piece = [this, &made](std::string_view piece) {
    made.too_large = made.body.size() + piece.size() > max_reply_bytes_;
    if (!made.too_large) made.body += piece;
    return !made.too_large;
  };
  made.exchange = (*lease)->run(request, view.token, handlers, deadline);
  if (!made.exchange.complete) lease->spoil();
  return made;
}

base::Result<ApiReply> ApiCaller::conclude(const ApiRequest& request, Attempt&& attempt,
                                           CallDeadline deadline) const {
  const ApiExchange& exchange = attempt.exchange;
  if (attempt.too_large) {
    return base::fail(base::ErrorCode::kTooLarge, "the API server's reply is larger than " +
                                                      std::to_string(max_reply_bytes_) + " bytes");
  }
  // If the request failed (4xx, 5xx) or a write succeeded (2xx), the status is enough; the body may
  // be incomplete.
  const bool outcome_is_known =
      exchange.status >= 400 || (exchange.success() && request.method != "GET");
  if (exchange.complete || outcome_is_known) {
    ApiReply reply{exchange.status, exchange.body};
    if (exchange.success()) reply.body = std::move(attempt.body);
    return reply;
  }
  const bool late = std::chrono::steady_clock::now() >= deadline;
  const std::string why =
      late ? "it did not answer within " + std::to_string(timeout_.count()) + " ms" : exchange.why;
  const bool unknown = exchange.sent && request.method != "GET";
  return base::fail(unknown ? base::ErrorCode::kUnknown : base::ErrorCode::kUnavailable,
                    "the call to the API server failed: " + why);
}

}  // namespace snug::kube
