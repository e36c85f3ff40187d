#include "adapters/kube/stream_client.hpp"

#include <pthread.h>

#include <utility>

namespace snug {
namespace {

using Real = std::chrono::steady_clock;

/// An abort may fall between the making of a socket and its connect, and then does nothing.
constexpr std::chrono::milliseconds kAbortAgain{20};

}  // namespace

StreamClient::StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options,
                           const KubeContext& context)
    : endpoint_(endpoint),
      connect_time_(options.api_timeout),
      metrics_(context.metrics),
      credentials_(endpoint, context),
      watchdog_([this] { watch_deadline(); }) {
  pthread_setname_np(watchdog_.native_handle(), "snug-end-watch");
}

StreamClient::~StreamClient() {
  stop();
  watchdog_.join();
}

ApiExchange StreamClient::run(const Call& call, const ReplyHandlers& handlers) {
  for (bool second = false;; second = true) {
    const auto view = credentials_.view();
    if (!view) {
      ApiExchange none;
      none.why = view.error().message;
      return none;
    }
    ReplyHandlers counted = handlers;
    counted.on_success = [&](std::string_view type) {
      metrics_.api_request(call.what, true);
      handlers.on_success(type);
    };
    ApiExchange exchange = run_once(call, *view, counted);
    if (!exchange.success() && !stopped()) metrics_.api_request(call.what, false);
    if (exchange.status != 401 || second || !credentials_.renew(*view)) return exchange;
  }
}

ApiExchange StreamClient::run_once(const Call& call, const CredentialView& view,
                                   const ReplyHandlers& handlers) {
  const auto made =
      ApiConnection::make(endpoint_, view.tls, SocketTimes{connect_time_, call.silence});
  if (!made) {
    ApiExchange none;
    none.why = made.error().message;
    return none;
  }
  ApiConnection& connection = **made;
  {
    const std::lock_guard lock(mutex_);
    running_ = &connection;
    next_abort_ = interrupted_ ? Real::now() : Real::now() + call.total;
    overdue_ = false;
    if (stopped_) connection.abort();
    wake_.notify_all();
  }
  ApiRequest request;
  request.target = call.target;
  request.accept = call.accept;
  ApiExchange exchange = connection.run(request, view.token, handlers);
  const std::lock_guard lock(mutex_);
  running_ = nullptr;
  if (!exchange.complete && overdue_) {
    exchange.why = "it had not ended after " + std::to_string(call.total.count()) + " s";
  }
  return exchange;
}

void StreamClient::watch_deadline() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (running_ == nullptr) {
      wake_.wait(lock);
    } else if (Real::now() < next_abort_) {
      wake_.wait_until(lock, next_abort_);
    } else {
      overdue_ = true;
      running_->abort();
      next_abort_ = Real::now() + kAbortAgain;
    }
  }
}

bool StreamClient::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stopped_ || interrupted_; });
}

void StreamClient::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  next_abort_ = Real::now();
  wake_.notify_all();
}

bool StreamClient::interrupted() const {
  const std::lock_guard lock(mutex_);
  return interrupted_;
}

bool StreamClient::take_interrupt() {
  const std::lock_guard lock(mutex_);
  return std::exchange(interrupted_, false);
}

void StreamClient::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (running_ != nullptr) running_->abort();
  wake_.notify_all();
}

bool StreamClient::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

}  // namespace snug
