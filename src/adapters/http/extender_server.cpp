#include "snug/adapters/http/extender_server.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "adapters/http/json_post_server.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::http {
namespace {

constexpr const char* kFilter = "/filter";
constexpr const char* kPrioritize = "/prioritize";
constexpr const char* kPreempt = "/preempt";
constexpr const char* kBind = "/bind";

std::string extender_error_body(std::string_view path, std::string_view sentence) {
  codec::ReplyShape shape = codec::ReplyShape::kBind;
  if (path == kFilter) shape = codec::ReplyShape::kFilter;
  if (path == kPrioritize) shape = codec::ReplyShape::kPrioritize;
  if (path == kPreempt) shape = codec::ReplyShape::kPreempt;
  return codec::write_error(shape, sentence);
}

HttpServerOptions extender_options(const base::Limits& limits) {
  return {.threads = static_cast<std::size_t>(limits.max_connections),
          .thread_name = "snug-verbs",
          .keep_alive = std::chrono::milliseconds{limits.keep_alive_ms}};
}

std::vector<JsonPostRoute> extender_routes(ExtenderHandlers handlers) {
  return {{kFilter, std::move(handlers.filter)},
          {kPrioritize, std::move(handlers.prioritize)},
          {kPreempt, std::move(handlers.preempt)},
          {kBind, std::move(handlers.bind)}};
}

}  // namespace

class ExtenderServer::Impl : public JsonPostServer {
 public:
  using JsonPostServer::JsonPostServer;
};

ExtenderServer::ExtenderServer(ExtenderHandlers handlers, HttpOptions options,
                               const base::Limits& limits)
    : impl_(std::make_unique<Impl>(extender_routes(std::move(handlers)), extender_error_body,
                                   std::move(options), extender_options(limits), limits)) {}
ExtenderServer::~ExtenderServer() = default;

base::Result<void> ExtenderServer::start() { return impl_->start(); }
int ExtenderServer::port() const { return impl_->port(); }
bool ExtenderServer::drain(std::chrono::milliseconds at_most) { return impl_->drain(at_most); }
void ExtenderServer::stop() { impl_->stop(); }

}  // namespace snug::http
