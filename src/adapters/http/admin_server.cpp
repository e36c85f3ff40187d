#include "snug/adapters/http/admin_server.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "adapters/http/dashboard.hpp"
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

/// Removes the text before the first `/` from `unread_path`, and also that `/`. Returns the text.
std::string_view take_segment(std::string_view& unread_path) {
  const std::string_view segment = unread_path.substr(0, unread_path.find('/'));
  unread_path.remove_prefix(std::min(unread_path.size(), segment.size() + 1));
  return segment;
}

/// Returns the values of the pattern's `{…}` segments, or nullopt if `path` does not match.
std::optional<decltype(AdminRequest::variables)> match_route(std::string_view pattern,
                                                             std::string_view path) {
  const auto slashes = std::ranges::count(pattern, '/');
  if (slashes != std::ranges::count(path, '/')) return std::nullopt;
  decltype(AdminRequest::variables) variables;
  for (auto segments_left = slashes + 1; segments_left > 0; --segments_left) {
    const std::string_view pattern_segment = take_segment(pattern);
    const std::string_view path_segment = take_segment(path);
    if (pattern_segment.starts_with('{') && pattern_segment.ends_with('}')) {
      if (path_segment.empty()) return std::nullopt;
      variables.emplace(pattern_segment.substr(1, pattern_segment.size() - 2), path_segment);
    } else if (pattern_segment != path_segment) {
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
  for (const auto& [query_key, query_value] : request.query) {
    if (std::ranges::find(route.query, query_key) == route.query.end()) {
      std::string allowed_keys;
      for (const std::string& allowed_key : route.query)
        allowed_keys += (allowed_keys.empty() ? "" : ", ") + allowed_key;
      return "the query of " + route.pattern + " has the unknown key " +
             base::in_quotes(query_key) + "; " +
             (allowed_keys.empty() ? "no keys are allowed" : "allowed keys: " + allowed_keys);
    }
    if (std::ranges::count(request.query, query_key, [](const auto& pair) { return pair.first; }) >
        1) {
      return "the query of " + route.pattern + " has the key " + query_key + " more than once";
    }
  }
  return std::nullopt;
}

/// The namespace to which the reply is confined; empty: it is about all, or about a manifest.
std::string_view confining_namespace(const AdminRoute& route, const RequestHead& request) {
  if (route.audience != Audience::kTenants) return {};
  std::string_view name_space;
  for (const auto& [query_key, query_value] : request.query) {
    if (query_key == "manifest") return {};
    if (query_key == "namespace") name_space = query_value;
  }
  return name_space;
}

service::AccessQuestion question_about(const AdminRoute& route, const RequestHead& request) {
  return {.authorization = request.value("Authorization"),
          .verb = request.method == "DELETE" ? "delete" : "get",
          .path = request.path,
          .name_space = confining_namespace(route, request)};
}

std::string endpoint_list(const std::vector<AdminRoute>& routes) {
  nlohmann::ordered_json endpoints = nlohmann::ordered_json::array();
  for (const AdminRoute& route : routes) {
    endpoints.push_back(
        {{"method", route.method}, {"path", route.pattern}, {"summary", route.summary}});
  }
  return nlohmann::ordered_json{{"endpoints", std::move(endpoints)}}.dump(2) + "\n";
}

bool has_body(const RequestHead& request) {
  const std::size_t content_lengths = request.count("Content-Length");
  return request.count("Transfer-Encoding") > 0 || content_lengths > 1 ||
         (content_lengths == 1 && request.value("Content-Length") != "0");
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(std::vector<AdminRoute> routes, service::AdminAccess* access, HttpOptions options,
       const base::Limits& limits)
      : routes_(std::move(routes)),
        access_(access),
        server_(
            {.answer = [this](const RequestHead& request, Connection&) { return answer(request); },
             .error_body = admin_error_body},
            std::move(options), admin_options(limits), limits) {
    routes_.push_back({.method = "GET",
                       .pattern = "/",
                       .summary = "the dashboard (for browsers), or the list of endpoints",
                       .handler =
                           [this](const AdminRequest& request) {
                             if (accepts_html(request.accept)) return dashboard_reply();
                             return AdminReply{.body = endpoint_list(routes_),
                                               .headers = {{"Vary", "Accept"}}};
                           },
                       .audience = Audience::kEveryone});
  }

  HttpServer& server() { return server_; }

 private:
  [[nodiscard]] HttpReply answer(const RequestHead& request) const {
    if (has_body(request) || request.count("Range") > 0) {
      return server_.refuse(
          request, {400, "a request to the admin port must have no body and no Range header"});
    }
    std::set<std::string> allowed_methods;
    for (const AdminRoute& route : routes_) {
      auto variables = match_route(route.pattern, request.path);
      if (!variables) continue;
      allowed_methods.insert(route.method);
      if (route.method != (request.method == "HEAD" ? "GET" : request.method)) continue;
      if (const auto query_error = check_query(route, request)) {
        return server_.refuse(request, {400, *query_error});
      }
      return call(route, request, std::move(*variables));
    }
    if (allowed_methods.empty()) {
      return server_.refuse(request, {404, "unknown path; GET / lists the endpoints"});
    }
    std::string methods;
    for (const std::string& method : allowed_methods)
      methods += (methods.empty() ? "" : ", ") + method;
    HttpReply reply = server_.refuse(request, {405, "the method must be " + methods});
    reply.allow = methods;
    return reply;
  }

  [[nodiscard]] HttpReply call(const AdminRoute& route, const RequestHead& request,
                               decltype(AdminRequest::variables) variables) const {
    AdminRequest admin_request{.path = request.path,
                               .variables = std::move(variables),
                               .query = {},
                               .accept = std::string(request.value("Accept"))};
    for (const auto& [query_key, query_value] : request.query)
      admin_request.query.emplace(query_key, query_value);
    if (route.audience != Audience::kEveryone && access_ != nullptr) {
      const service::AccessAnswer access = access_->check(question_about(route, request));
      if (access.level == service::AccessAnswer::Level::kNone) return deny(request, access);
      admin_request.own_pods_only = access.level == service::AccessAnswer::Level::kOwnPods;
    }
    AdminReply admin_reply = route.handler(admin_request);
    return {.status = admin_reply.status,
            .body = std::move(admin_reply.body),
            .content_type = std::move(admin_reply.content_type),
            .headers = std::move(admin_reply.headers)};
  }

  [[nodiscard]] HttpReply deny(const RequestHead& request,
                               const service::AccessAnswer& access) const {
    HttpReply reply = server_.refuse(request, {access.status, access.sentence});
    if (access.status == service::kUnauthorized)
      reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    return reply;
  }

  std::vector<AdminRoute> routes_;
  service::AdminAccess* const access_;
  HttpServer server_;
};

AdminServer::AdminServer(std::vector<AdminRoute> routes, service::AdminAccess* access,
                         HttpOptions options, const base::Limits& limits)
    : impl_(std::make_unique<Impl>(std::move(routes), access, std::move(options), limits)) {}
AdminServer::~AdminServer() = default;

base::Result<void> AdminServer::start() { return impl_->server().start(); }
int AdminServer::port() const { return impl_->server().port(); }
void AdminServer::stop() { impl_->server().stop(); }

}  // namespace snug::http
