// The admin port, which people and tools call. It serves a table of routes, and `GET /` lists them,
// or is the dashboard for a client that accepts text/html, as browsers do.
// It is separate from the extender port, so that it serves probes and metrics even if all threads
// of the extender port are busy. A request must have no body.
//
// Each request whose head is complete has a thread; at most limits.max_admin_connections of these
// threads exist. /livez and /readyz have separate threads, so that slow clients and slow routes do
// not delay them. All these threads call the handlers concurrently. The server's functions must be
// called from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/service/admin_access.hpp"

namespace snug::http {

struct AdminRequest {
  std::string path;
  /// The values of the `{…}` segments of the route's pattern, by name. No value is empty.
  std::map<std::string, std::string, std::less<>> variables;
  /// The query parameters, by key. A route under /v1/ gets only keys that AdminRoute::query lists,
  /// each at most once. Other routes get every key, with its first value.
  std::map<std::string, std::string, std::less<>> query;
  std::string accept;  // the header Accept; empty: there is none
  /// The reply must show only what concerns pods of the query's namespace.
  bool own_pods_only = false;
};

struct AdminReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further headers
};

/// Who may call a route if the server checks access (service/admin_access.hpp).
enum class Audience : std::uint8_t {
  kEveryone,   // also clients without a token
  kOperators,  // users who may read everything
  kTenants,    // and users who may read about the pods of the namespace that the query names
};

struct AdminRoute {
  std::string method;   // GET (which also serves HEAD) or DELETE
  std::string pattern;  // like `/v1/nodes` or `/v1/pods/{namespace}/{name}`
  std::string summary;  // one line, for the list that `GET /` returns
  std::function<AdminReply(const AdminRequest&)> handler;
  /// The query keys that a route under /v1/ accepts. Other routes accept any key.
  std::vector<std::string> query = {};
  Audience audience = Audience::kOperators;
};

class AdminServer {
 public:
  /// `access`: null: every client may call every route. It must outlive the server.
  AdminServer(std::vector<AdminRoute> routes, service::AdminAccess* access, HttpOptions options,
              const base::Limits& limits);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const;
  /// Closes every connection, and waits until no handler is running.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug::http
