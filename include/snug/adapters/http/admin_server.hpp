// The port for people and tools: routes from a table, `/` lists them. Apart from the extender's, so
// that probes and metrics are answered while every extender thread is busy. No route takes a body.
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

namespace snug {

struct AdminRequest {
  std::string path;
  /// What stands in the pattern's {…}; never empty texts.
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
  std::vector<std::string> query = {};  // the keys that it takes; under /v1/ any other is refused
};

class AdminServer {
 public:
  AdminServer(std::vector<AdminRoute> routes, HttpOptions options, const Limits& limits);
  ~AdminServer();
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  [[nodiscard]] Result<void> start();
  [[nodiscard]] int port() const;
  /// Ends what is open at once: nothing here is worth waiting for.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace snug
