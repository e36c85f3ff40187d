#include "adapters/kube/stream_client.hpp"

#include <utility>

namespace snug::kube {
namespace {

ApiExchange not_sent(const base::Error& error) {
  ApiExchange none;
  none.why = error.message;
  return none;
}

}  // namespace

StreamClient::StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options,
                           const KubeContext& context)
    : endpoint_(endpoint),
      connect_time_(options.api_timeout),
      metrics_(context.metrics),
      credentials_(endpoint, context) {}

ApiExchange StreamClient::run(const Call& call, const ReplyHandlers& handlers) {
  for (bool second = false;; second = true) {
    const auto view = credentials_.view();
    if (!view) return not_sent(view.error());
    ReplyHandlers counted = handlers;
    counted.on_success = [&](std::string_view type) {
      metrics_.api_request(call.name, true);
      handlers.on_success(type);
    };
    ApiExchange exchange = run_once(call, *view, counted);
    if (!exchange.success() && !stopped()) metrics_.api_request(call.name, false);
    if (exchange.status != 401 || second || !credentials_.renew(*view)) return exchange;
  }
}

ApiExchange StreamClient::run_once(const Call& call, const CredentialView& view,
                                   const ReplyHandlers& handlers) {
  const SocketTimes times{.connect = connect_time_, .silence = call.silence};
  const auto made = ApiConnection::make(endpoint_, view.tls, times);
  if (!made) return not_sent(made.error());
  ApiConnection& connection = **made;
  {
    const base::MutexLock lock(mutex_);
    running_ = &connection;
    if (stopped_ || interrupted_) connection.abort();
  }
  ApiRequest request;
  request.target = call.target;
  request.accept = call.accept;
  const CallDeadline deadline = std::chrono::steady_clock::now() + call.total;
  ApiExchange exchange = connection.run(request, view.token, handlers, deadline);
  if (!exchange.complete && std::chrono::steady_clock::now() >= deadline) {
    exchange.why = "it had not ended after " + std::to_string(call.total.count()) + " s";
  }
  const base::MutexLock lock(mutex_);
  running_ = nullptr;
  return exchange;
}

bool StreamClient::wait(std::chrono::milliseconds time) {
  const base::MutexLock lock(mutex_);
  return !wake_.wait_for(mutex_, time,
                         [this]() SNUG_REQUIRES(mutex_) { return stopped_ || interrupted_; });
}

void StreamClient::interrupt() {
  const base::MutexLock lock(mutex_);
  interrupted_ = true;
  if (running_ != nullptr) running_->abort();
  wake_.notify_all();
}

bool StreamClient::interrupted() const {
  const base::MutexLock lock(mutex_);
  return interrupted_;
}

bool StreamClient::take_interrupt() {
  const base::MutexLock lock(mutex_);
  return std::exchange(interrupted_, false);
}

void StreamClient::stop() {
  const base::MutexLock lock(mutex_);
  stopped_ = true;
  if (running_ != nullptr) running_->abort();
  wake_.notify_all();
}

bool StreamClient::stopped() const {
  const base::MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace snug::kube
