#include "adapters/kube/stream_client.hpp"

#include <utility>

namespace snug::kube {
namespace {

ApiExchange not_sent(const base::Error& send_error) {
  ApiExchange unsent_exchange;
  unsent_exchange.why = send_error.message;
  return unsent_exchange;
}

}  // namespace

StreamClient::StreamClient(const ApiEndpoint& endpoint, const KubeOptions& options,
                           const KubeContext& context)
    : endpoint_(endpoint),
      connect_timeout_(options.api_timeout),
      metrics_(context.metrics),
      clock_(context.clock),
      credentials_(endpoint, context) {}

ApiExchange StreamClient::run(const StreamCall& stream_call, const ReplyHandlers& handlers) {
  for (bool is_second_try = false;; is_second_try = true) {
    const auto credentials = credentials_.view();
    if (!credentials) return not_sent(credentials.error());
    const base::TimePoint start = clock_.now();
    const auto count_request = [&](bool ok) {
      const auto duration =
          std::chrono::duration_cast<std::chrono::microseconds>(clock_.now() - start);
      metrics_.api_request(stream_call.api_call, ok, duration.count());
    };
    ReplyHandlers counting_handlers = handlers;
    counting_handlers.on_success = [&](std::string_view content_type) {
      count_request(true);
      handlers.on_success(content_type);
    };
    ApiExchange stream_exchange = run_once(stream_call, *credentials, counting_handlers);
    if (!stream_exchange.success() && !stopped()) count_request(false);
    if (stream_exchange.status != 401 || is_second_try || !credentials_.renew(*credentials))
      return stream_exchange;
  }
}

ApiExchange StreamClient::run_once(const StreamCall& stream_call, const CredentialView& credentials,
                                   const ReplyHandlers& reply_handlers) {
  const SocketTimes socket_times{.connect = connect_timeout_, .silence = stream_call.max_silence};
  const auto new_connection = ApiConnection::make(endpoint_, credentials.tls, socket_times);
  if (!new_connection) return not_sent(new_connection.error());
  ApiConnection& stream_connection = **new_connection;
  {
    const base::MutexLock lock(mutex_);
    running_connection_ = &stream_connection;
    if (stopped_ || interrupted_) stream_connection.abort();
  }
  ApiRequest stream_request;
  stream_request.target = stream_call.target;
  stream_request.accept = stream_call.accept;
  const CallDeadline stream_deadline = std::chrono::steady_clock::now() + stream_call.max_duration;
  ApiExchange stream_exchange =
      stream_connection.run(stream_request, credentials.token, reply_handlers, stream_deadline);
  if (!stream_exchange.complete && std::chrono::steady_clock::now() >= stream_deadline) {
    stream_exchange.why =
        "it had not ended after " + std::to_string(stream_call.max_duration.count()) + " s";
  }
  const base::MutexLock lock(mutex_);
  running_connection_ = nullptr;
  return stream_exchange;
}

bool StreamClient::wait(std::chrono::milliseconds wait_time) {
  const base::MutexLock lock(mutex_);
  return !wait_interrupted_.wait_for(
      mutex_, wait_time, [this]() SNUG_REQUIRES(mutex_) { return stopped_ || interrupted_; });
}

void StreamClient::interrupt() {
  const base::MutexLock lock(mutex_);
  interrupted_ = true;
  if (running_connection_ != nullptr) running_connection_->abort();
  wait_interrupted_.notify_all();
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
  if (running_connection_ != nullptr) running_connection_->abort();
  wait_interrupted_.notify_all();
}

bool StreamClient::stopped() const {
  const base::MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace snug::kube
