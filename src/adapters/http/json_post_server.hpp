// A server whose paths accept POST requests with a JSON body: the extender port and the webhook
// port. If a request is incomplete or exceeds a limit, the server sends an error reply and closes
// the connection, so that the rest of the request is never parsed as another request.
//
// The handlers are called concurrently from many threads. The server's functions must be called
// from one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adapters/http/body_buffers.hpp"
#include "adapters/http/http_server.hpp"
#include "snug/service/ports.hpp"

namespace snug::http {

struct JsonPostRoute {
  std::string path;
  /// Gets the request's body, which is not empty and which it may modify.
  std::function<service::Reply(std::string& body)> handler;
};

class JsonPostServer {
 public:
  using ErrorBody = decltype(HttpHandlers::error_body);

  JsonPostServer(std::vector<JsonPostRoute> routes, ErrorBody error_body, HttpOptions options,
                 HttpServerOptions server_options, const base::Limits& limits);
  JsonPostServer(const JsonPostServer&) = delete;
  JsonPostServer& operator=(const JsonPostServer&) = delete;

  [[nodiscard]] base::Result<void> start() { return server_.start(); }
  [[nodiscard]] int port() const { return server_.port(); }
  bool drain(std::chrono::milliseconds at_most) { return server_.drain(at_most); }
  void stop();

 private:
  /// Checks what can be checked before the body is read. Returns the refusal if a check fails.
  [[nodiscard]] std::optional<HttpRefusal> check_before_body(const RequestHead& request) const;
  [[nodiscard]] HttpReply answer(const RequestHead& request, Connection& connection);
  /// Null: no route has this path.
  [[nodiscard]] const JsonPostRoute* find_route(std::string_view path) const;

  const std::vector<JsonPostRoute> routes_;
  const std::string unknown_path_message_;
  const std::size_t max_body_;
  const std::string memory_full_message_;
  BodyBuffers body_buffers_;
  HttpServer server_;
};

}  // namespace snug::http
