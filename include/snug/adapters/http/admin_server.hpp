// The port for people and tools, with a table of routes; `GET /` lists them. It is separate from
// the extender port, so that probes and metrics are served while all extender threads are busy. No
// route accepts a body.
//
// Threads and calls as in ExtenderServer, with limits.max_admin_connections. /livez and /readyz
// have threads of their own, so that slow clients and slow routes do not delay them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::http {

struct AdminRequest {
  std::string path;
  /// The values of the pattern's {…}; never empty.
  std::map<std::string, std::string, std::less<>> variables;
  /// Query parameters: keys of the route, each at most once.
  std::map<std::string, std::string, std::less<>> query;
};

struct AdminReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json; charset=utf-8";
};

struct AdminRoute {
  std::string method;   // GET (which serves HEAD too) or DELETE
  std::string pattern;  // `/v1/nodes`, `/v1/pods/{namespace}/{name}`
  std::string summary;  // one line for the list of endpoints
  std::function<AdminReply(const AdminRequest&)> handler;
  std::vector<std::string> query = {};  // allowed keys; under /v1/ others are refused
};

class AdminServer {
 public:
  AdminServer(std::vector<AdminRoute> routes, HttpOptions options, const base::Limits& limits);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  [[nodiscard]] base::Result<void> start();
  [[nodiscard]] int port() const;
  /// Closes all connections without waiting for requests in flight.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug::http
