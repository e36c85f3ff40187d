#include "snug/adapters/http/admin_server.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "adapters/http/http_server.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/extender_codec.hpp"

namespace snug::http {
namespace {

HttpServerOptions admin_options(const base::Limits& limits) {
  return {.threads = static_cast<std::size_t>(limits.max_admin_connections),
          .thread_name = "snug-admin",
          .keep_alive = std::chrono::milliseconds{limits.admin_keep_alive_ms},
          .probes = {"/livez", "/readyz"}};
}

/// Returns `{"Error":"…"}`, the body of an error reply for every path of the admin port.
std::string admin_error_body(std::string_view, std::string_view sentence) {
  return codec::write_error(codec::ReplyShape::kBind, sentence);
}

/// Removes the text before the first `/` from `rest`, and also that `/`. Returns the text.
std::string_view take_segment(std::string_view& rest) {
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

/// Returns the values of the pattern's `{…}` segments, or nullopt if `path` does not match.
std::optional<decltype(AdminRequest::variables)> match(std::string_view pattern,
                                                       std::string_view path) {
  const auto slashes = std::ranges::count(pattern, '/');
  if (slashes != std::ranges::count(path, '/')) return std::nullopt;
  decltype(AdminRequest::variables) variables;
  for (auto left = slashes + 1; left > 0; --left) {
    const std::string_view wanted = take_segment(pattern);
    const std::string_view found = take_segment(path);
    if (wanted.starts_with('{') && wanted.ends_with('}')) {
      if (found.empty()) return std::nullopt;
      variables.emplace(wanted.substr(1, wanted.size() - 2), found);
    } else if (wanted != found) {
      return std::nullopt;
    }
  }
  return variables;
}

/// Returns an error sentence if a route under /v1/ gets a query key that is unknown or repeated, so
/// that a misspelled key is not ignored. Other routes accept any query, since probes and scrapers
/// may add one (`/readyz?verbose`).
std::optional<std::string> check_query(const AdminRoute& route, const RequestHead& request) {
  if (!route.pattern.starts_with("/v1/")) return std::nullopt;
  for (const auto& [key, value] : request.query) {
    if (std::ranges::find(route.query, key) == route.query.end()) {
      std::string allowed;
      for (const std::string& one : route.query) allowed += (allowed.empty() ? "" : ", ") + one;
      return "the query of " + route.pattern + " has the unknown key " + base::in_quotes(key) +
             "; " + (allowed.empty() ? "no keys are allowed" : "allowed keys: " + allowed);
    }
    if (std::ranges::count(request.query, key, [](const auto& pair) { return pair.first; }) > 1) {
      return "the query of " + route.pattern + " has the key " + key + " more than once";
    }
  }
  return std::nullopt;
}

std::string list_of(const std::vector<AdminRoute>& routes) {
  nlohmann::ordered_json endpoints = nlohmann::ordered_json::array();
  for (const AdminRoute& route : routes) {
    endpoints.push_back(
        {{"method", route.method}, {"path", route.pattern}, {"summary", route.summary}});
  }
  return nlohmann::ordered_json{{"endpoints", std::move(endpoints)}}.dump(2) + "\n";
}

bool has_body(const RequestHead& request) {
  const std::size_t lengths = request.count("Content-Length");
  return request.count("Transfer-Encoding") > 0 || lengths > 1 ||
         (lengths == 1 && request.value("Content-Length") != "0");
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(std::vector<AdminRoute> routes, HttpOptions options, const base::Limits& limits)
      : routes_(std::move(routes)),
        server_(
            {.answer = [this](const RequestHead& request, Connection&) { return answer(request); },
             .error_body = admin_error_body},
            std::move(options), admin_options(limits), limits) {
    routes_.push_back({"GET", "/", "the list of endpoints", [this](const AdminRequest&) {
                         return AdminReply{.body = list_of(routes_)};
                       }});
  }

  HttpServer& server() { return server_; }

 private:
  [[nodiscard]] HttpReply answer(const RequestHead& request) const {
    if (has_body(request) || request.count("Range") > 0) {
      return server_.refuse(
          request, {400, "a request to the admin port must have no body and no Range header"});
    }
    std::set<std::string> allowed;
    for (const AdminRoute& route : routes_) {
      auto variables = match(route.pattern, request.path);
      if (!variables) continue;
      allowed.insert(route.method);
      if (route.method != (request.method == "HEAD" ? "GET" : request.method)) continue;
      if (const auto wrong = check_query(route, request)) {
        return server_.refuse(request, {400, *wrong});
      }
      return call(route, request, std::move(*variables));
    }
    if (allowed.empty()) {
      return server_.refuse(request, {404, "unknown path; GET / lists the endpoints"});
    }
    std::string methods;
    for (const std::string& method : allowed) methods += (methods.empty() ? "" : ", ") + method;
    HttpReply reply = server_.refuse(request, {405, "the method must be " + methods});
    reply.allow = methods;
    return reply;
  }

  static HttpReply call(const AdminRoute& route, const RequestHead& request,
                        decltype(AdminRequest::variables) variables) {
    AdminRequest asked{.path = request.path, .variables = std::move(variables), .query = {}};
    for (const auto& [key, value] : request.query) asked.query.emplace(key, value);
    AdminReply reply = route.handler(asked);
    return {.status = reply.status,
            .body = std::move(reply.body),
            .content_type = std::move(reply.content_type)};
  }

  std::vector<AdminRoute> routes_;
  HttpServer server_;
};

AdminServer::AdminServer(std::vector<AdminRoute> routes, HttpOptions options,
                         const base::Limits& limits)
    : impl_(std::make_unique<Impl>(std::move(routes), std::move(options), limits)) {}
AdminServer::~AdminServer() = default;

base::Result<void> AdminServer::start() { return impl_->server().start(); }
int AdminServer::port() const { return impl_->server().port(); }
void AdminServer::stop() { impl_->server().stop(); }

}  // namespace snug::http
