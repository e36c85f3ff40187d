// A client of the admin port, for command-line programs. Each call sends one request in the calling
// thread and waits for the reply.
#pragma once

#include <map>
#include <string>

#include "snug/base/result.hpp"

namespace snug::http {

/// How to reach an admin port.
struct AdminTarget {
  std::string url;      // http://HOST:PORT or https://HOST:PORT
  std::string token;    // sent as a bearer token; empty: none
  std::string ca_file;  // PEM, for https; empty: the authorities that the system trusts
  bool checks_certificate = true;
};

struct AdminResponse {
  int status = 0;  // HTTP status code
  std::string body;
};

/// Sends a GET request for `path` with the parameters in `query`. Errors: kInvalid if the URL has
/// another form, or if the token would be sent to another machine without TLS; kUnavailable if the
/// server does not answer, or its certificate cannot be trusted; kTooLarge if its reply exceeds
/// kMaxAdminReplyBytes. The error message names the server, why it does not answer, and what to
/// try.
[[nodiscard]] base::Result<AdminResponse> get_from_admin(
    const AdminTarget& target, const std::string& path,
    const std::multimap<std::string, std::string>& query);

}  // namespace snug::http
