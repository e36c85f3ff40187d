// A client of the admin port, for command-line programs. Starts no threads; one request at a time.
#pragma once

#include <map>
#include <string>

#include "snug/base/result.hpp"

namespace snug::http {

struct AdminResponse {
  int status = 0;  // as in HTTP
  std::string body;
};

/// Sends a GET. `server` must be `http://HOST:PORT`, else kInvalid. kUnavailable: the server does
/// not answer; kTooLarge: its reply exceeds kMaxAdminReplyBytes. The message is a sentence with the
/// server's address.
[[nodiscard]] base::Result<AdminResponse> get_from_admin(
    const std::string& server, const std::string& path,
    const std::multimap<std::string, std::string>& query);

}  // namespace snug::http
