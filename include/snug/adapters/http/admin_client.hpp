// A client of the admin port, for command-line programs. Each call sends one request in the calling
// thread and waits for the reply.
#pragma once

#include <map>
#include <string>

#include "snug/base/result.hpp"

namespace snug::http {

struct AdminResponse {
  int status = 0;  // HTTP status code
  std::string body;
};

/// Sends a GET request for `path` with the parameters in `query`. Errors: kInvalid if `server` is
/// not `http://HOST:PORT`, kUnavailable if the server does not answer, and kTooLarge if its reply
/// exceeds kMaxAdminReplyBytes. The error message names the server, why it does not answer, and
/// what to try.
[[nodiscard]] base::Result<AdminResponse> get_from_admin(
    const std::string& server, const std::string& path,
    const std::multimap<std::string, std::string>& query);

}  // namespace snug::http
