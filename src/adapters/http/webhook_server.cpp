#include "snug/adapters/http/webhook_server.hpp"

#include <string_view>
#include <utility>

#include "adapters/http/json_post_server.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::http {
namespace {

std::vector<JsonPostRoute> webhook_routes(WebhookHandlers handlers) {
  return {{"/mutate", std::move(handlers.mutate)}, {"/validate", std::move(handlers.validate)}};
}

std::string webhook_error_body(std::string_view /*path*/, std::string_view sentence) {
  return codec::write_error(codec::ReplyShape::kBind, sentence);
}

HttpServerOptions webhook_options(const base::Limits& limits) {
  return {.threads = static_cast<std::size_t>(limits.max_webhook_connections),
          .thread_name = "snug-webhook",
          .keep_alive = std::chrono::milliseconds{limits.keep_alive_ms}};
}

base::Limits webhook_limits(base::Limits limits) {
  limits.max_body_bytes = limits.max_review_bytes;
  return limits;
}

}  // namespace

class WebhookServer::Impl : public JsonPostServer {
 public:
  using JsonPostServer::JsonPostServer;
};

WebhookServer::WebhookServer(WebhookHandlers handlers, HttpOptions options,
                             const base::Limits& limits)
    : impl_(std::make_unique<Impl>(webhook_routes(std::move(handlers)), webhook_error_body,
                                   std::move(options), webhook_options(limits),
                                   webhook_limits(limits))) {}
WebhookServer::~WebhookServer() = default;

base::Result<void> WebhookServer::start() { return impl_->start(); }
int WebhookServer::port() const { return impl_->port(); }
bool WebhookServer::drain(std::chrono::milliseconds at_most) { return impl_->drain(at_most); }
void WebhookServer::stop() { impl_->stop(); }

}  // namespace snug::http
