#include "snug/adapters/http/admin_server.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "adapters/http/http_engine.hpp"
#include "snug/codec/extender_codec.hpp"
#include "snug/codec/in_quotes.hpp"

namespace snug {
namespace {

EngineBounds bounds_of(const Limits& limits) {
  return {.threads = static_cast<std::size_t>(limits.max_admin_connections),
          .thread_name = "snug-admin",
          .keep_alive = std::chrono::milliseconds{limits.admin_keep_alive_ms},
          .probes = {"/livez", "/readyz"}};
}

/// `{"Error":…}` for every path.
std::string error_body(const std::string&, std::string_view sentence) {
  return write_error(ReplyShape::kBind, sentence);
}

/// Up to the next `/`, which goes too.
std::string_view take_segment(std::string_view& rest) {
  const std::string_view segment = rest.substr(0, rest.find('/'));
  rest.remove_prefix(std::min(rest.size(), segment.size() + 1));
  return segment;
}

/// The variables of the pattern, or nothing where the path is another one.
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

/// What is wrong with the query; nothing: all is well. Probes and scrapers may add what they like
/// (`/readyz?verbose`); people who misspell a question get no answer to another one.
std::optional<std::string> check_query(const AdminRoute& route, const httplib::Params& query) {
  if (!route.pattern.starts_with("/v1/")) return std::nullopt;
  for (auto at = query.begin(); at != query.end(); at = query.upper_bound(at->first)) {
    if (std::ranges::find(route.query, at->first) == route.query.end()) {
      std::string allowed;
      for (const std::string& key : route.query) allowed += (allowed.empty() ? "" : ", ") + key;
      return "the query of " + route.pattern + " has the unknown key " + in_quotes(at->first) +
             "; " + (allowed.empty() ? "it takes none" : "it may have " + allowed);
    }
    if (query.count(at->first) > 1) {
      return "the query of " + route.pattern + " has the key " + at->first + " more than once";
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

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") &&
          request.get_header_value("Content-Length") != "0");
}

}  // namespace

class AdminServer::Impl {
 public:
  Impl(std::vector<AdminRoute> routes, HttpOptions options, const Limits& limits)
      : routes_(std::move(routes)), engine_(std::move(options), bounds_of(limits), limits) {
    routes_.push_back({"GET", "/", "this list", [this](const AdminRequest&) {
                         return AdminReply{.body = list_of(routes_)};
                       }});
    engine_.set_error_body(error_body);
    engine_.set_gate([this](const httplib::Request& request, httplib::Response& response) {
      answer(request, response);
      return true;
    });
  }

  HttpEngine& engine() { return engine_; }

 private:
  void answer(const httplib::Request& request, httplib::Response& response) const {
    if (has_body(request) || request.has_header("Range")) {
      return engine_.refuse(request, response,
                            {400, "no request to this port takes a body or a Range"});
    }
    std::set<std::string> allowed;
    for (const AdminRoute& route : routes_) {
      auto variables = match(route.pattern, request.path);
      if (!variables) continue;
      allowed.insert(route.method);
      if (route.method != (request.method == "HEAD" ? "GET" : request.method)) continue;
      if (const auto wrong = check_query(route, request.params)) {
        return engine_.refuse(request, response, {400, *wrong});
      }
      return call(route, request, std::move(*variables), response);
    }
    if (allowed.empty()) {
      return engine_.refuse(request, response,
                            {404, "there is no such path; GET / lists them all"});
    }
    std::string methods;
    for (const std::string& method : allowed) methods += (methods.empty() ? "" : ", ") + method;
    engine_.refuse(request, response, {405, "the method must be " + methods});
    response.set_header("Allow", methods);
  }

  static void call(const AdminRoute& route, const httplib::Request& request,
                   decltype(AdminRequest::variables) variables, httplib::Response& response) {
    AdminRequest asked{.path = request.path, .variables = std::move(variables), .query = {}};
    for (const auto& [key, value] : request.params) asked.query.emplace(key, value);
    AdminReply reply = route.handler(asked);
    response.status = reply.status;
    response.body = std::move(reply.body);
    response.set_header("Content-Type", reply.content_type);
  }

  std::vector<AdminRoute> routes_;
  HttpEngine engine_;
};

AdminServer::AdminServer(std::vector<AdminRoute> routes, HttpOptions options, const Limits& limits)
    : impl_(std::make_unique<Impl>(std::move(routes), std::move(options), limits)) {}
AdminServer::~AdminServer() = default;

Result<void> AdminServer::start() { return impl_->engine().start(); }
int AdminServer::port() const { return impl_->engine().port(); }
void AdminServer::stop() { impl_->engine().stop(); }

}  // namespace snug
