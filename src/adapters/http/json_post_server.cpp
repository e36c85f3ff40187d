#include "adapters/http/json_post_server.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace snug::http {
namespace {

bool is_json_type(std::string_view content_type) {
  std::string media_type{content_type};
  media_type.resize(std::min(media_type.size(), media_type.find(';')));
  media_type.resize(media_type.find_last_not_of(" \t") + 1);
  std::ranges::transform(media_type, media_type.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  });
  return media_type == "application/json";
}

/// Returns nullopt if the text is not all digits, and the maximum of size_t if the number exceeds
/// it.
std::optional<std::size_t> parse_content_length(std::string_view length_header) {
  if (length_header.empty() ||
      !std::ranges::all_of(length_header, [](char c) { return c >= '0' && c <= '9'; })) {
    return std::nullopt;
  }
  std::size_t length = 0;
  const auto parsed =
      std::from_chars(length_header.data(), length_header.data() + length_header.size(), length);
  return parsed.ec == std::errc{} ? length : static_cast<std::size_t>(-1);
}

std::optional<HttpRefusal> check_content_length(const RequestHead& request,
                                                std::size_t max_body_bytes) {
  switch (request.count("Content-Length")) {
    case 0:
      return HttpRefusal{411, "the header Content-Length is missing; a request must have one"};
    case 1:
      break;
    default:
      return HttpRefusal{400, "the header Content-Length came more than once"};
  }
  const auto length = parse_content_length(request.value("Content-Length"));
  if (!length) return HttpRefusal{400, "the header Content-Length must be a number of bytes"};
  if (*length == 0) return HttpRefusal{400, "the body is empty; it must be a JSON object"};
  if (*length > max_body_bytes) {
    return HttpRefusal{413, "the body is larger than the " + std::to_string(max_body_bytes) +
                                " bytes that are allowed"};
  }
  return std::nullopt;
}

/// Returns the sentence of a 404: `unknown path; the paths are /a, /b and /c`.
std::string unknown_path_message(const std::vector<JsonPostRoute>& routes) {
  std::string message = "unknown path; the paths are ";
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (i > 0) message += i + 1 == routes.size() ? " and " : ", ";
    message += routes[i].path;
  }
  return message;
}

}  // namespace

JsonPostServer::JsonPostServer(std::vector<JsonPostRoute> routes, ErrorBody error_body,
                               HttpOptions options, HttpServerOptions server_options,
                               const base::Limits& limits)
    : routes_(std::move(routes)),
      unknown_path_message_(unknown_path_message(routes_)),
      max_body_(static_cast<std::size_t>(limits.max_body_bytes)),
      memory_full_message_("other request bodies take up the " +
                           std::to_string(limits.max_body_bytes_at_once) +
                           " bytes that are allowed at once (limit maxBodyBytesAtOnce); try again"),
      body_buffers_(limits, [this] { server_.notify_waiting(); }),
      server_({.answer = [this](const RequestHead& request,
                                Connection& connection) { return answer(request, connection); },
               .error_body = std::move(error_body),
               .waiting_for_memory = [this] { return body_buffers_.waiting(); }},
              std::move(options), std::move(server_options), limits) {}

void JsonPostServer::stop() {
  body_buffers_.close();
  server_.stop();
}

const JsonPostRoute* JsonPostServer::find_route(std::string_view path) const {
  const auto route = std::ranges::find(routes_, path, &JsonPostRoute::path);
  return route == routes_.end() ? nullptr : &*route;
}

std::optional<HttpRefusal> JsonPostServer::check_before_body(const RequestHead& request) const {
  if (find_route(request.path) == nullptr) return HttpRefusal{404, unknown_path_message_};
  if (request.method != "POST") return HttpRefusal{405, "the method must be POST"};
  if (request.count("Transfer-Encoding") > 0) {
    return HttpRefusal{411, "Transfer-Encoding is not accepted; send a Content-Length"};
  }
  if (request.count("Content-Encoding") > 0) {
    return HttpRefusal{415, "Content-Encoding is not accepted; send the JSON as it is"};
  }
  if (request.count("Range") > 0) return HttpRefusal{400, "the header Range is not accepted"};
  if (!is_json_type(request.value("Content-Type"))) {
    return HttpRefusal{415, "the header Content-Type must be application/json"};
  }
  return check_content_length(request, max_body_);
}

HttpReply JsonPostServer::answer(const RequestHead& request, Connection& connection) {
  if (const std::optional<HttpRefusal> refusal = check_before_body(request)) {
    HttpReply reply = server_.refuse(request, *refusal);
    if (refusal->status == 405) reply.allow = "POST";
    return reply;
  }
  const std::size_t length = parse_content_length(request.value("Content-Length")).value_or(0);
  const std::shared_ptr<BodyBuffers::Buffer> body = body_buffers_.acquire(length);
  if (body == nullptr) return server_.refuse(request, {503, memory_full_message_});
  // The body counts towards the memory limit until the reply is sent, because the reply may be as
  // large as the body.
  connection.keep_alive_until_sent(body);
  connection.begin_body();
  if (!connection.read_body(length, body->text())) {
    return server_.refuse_incomplete(request, connection);
  }
  service::Reply reply = find_route(request.path)->handler(body->text());
  return {.status = reply.status, .body = std::move(reply.body)};
}

}  // namespace snug::http
