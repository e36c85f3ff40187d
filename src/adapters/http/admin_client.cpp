#include "snug/adapters/http/admin_client.hpp"

#include <httplib.h>

#include <chrono>
#include <csignal>
#include <cstddef>

#include "snug/base/limits.hpp"

namespace snug {
namespace {

constexpr std::string_view kScheme = "http://";

/// Without a slash at its end; empty: it is no such URL.
std::string checked(std::string server) {
  while (server.ends_with('/')) server.pop_back();
  const bool good = server.starts_with(kScheme) && server.size() > kScheme.size() &&
                    server.find_first_of("/?#@ ", kScheme.size()) == std::string::npos;
  return good ? server : "";
}

std::string problem_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
    case httplib::Error::ConnectionTimeout:
    case httplib::Error::BindIPAddress:
      return "cannot be connected to";
    default:
      return "does not answer (" + httplib::to_string(error) + ")";
  }
}

}  // namespace

Result<AdminAnswer> ask_admin(const std::string& server, const std::string& path,
                              const std::multimap<std::string, std::string>& query) {
  const std::string url = checked(server);
  httplib::Client client(url);
  if (url.empty() || !client.is_valid()) {
    return fail(ErrorCode::kInvalid,
                "the server is \"" + server + "\"; allowed is http://HOST:PORT");
  }
  std::signal(SIGPIPE, SIG_IGN);  // httplib writes to sockets that the other side may have closed
  client.set_connection_timeout(std::chrono::milliseconds{kAskConnectMs});
  client.set_read_timeout(std::chrono::milliseconds{kAskSilenceMs});
  client.set_write_timeout(std::chrono::milliseconds{kAskSilenceMs});
  std::string body;
  bool too_large = false;
  const httplib::Result reply =
      client.Get(path, query, httplib::Headers(), [&](const char* data, std::size_t size) {
        too_large = body.size() + size > kMostAskedBytes;
        if (!too_large) body.append(data, size);
        return !too_large;
      });
  if (too_large) return fail(ErrorCode::kTooLarge, url + " answers with more than Snug ever would");
  if (!reply) return fail(ErrorCode::kUnavailable, url + " " + problem_of(reply.error()));
  return AdminAnswer{.status = reply->status, .body = std::move(body)};
}

}  // namespace snug
