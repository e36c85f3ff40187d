// The dashboard: one HTML page that shows the replies of the admin port. The page is compiled into
// the program (src/dashboard). It loads nothing else: its Content-Security-Policy allows only its
// own style and script, by their hashes, and requests to the port that it came from.
//
// Thread-safe.
#pragma once

#include <string_view>

#include "snug/adapters/http/admin_server.hpp"

namespace snug::http {

/// Returns whether the value of a header Accept names text/html. `*/*` does not count, so that curl
/// and snugctl get JSON.
[[nodiscard]] bool accepts_html(std::string_view accept);

/// Returns the page with its security headers.
[[nodiscard]] AdminReply dashboard_reply();

}  // namespace snug::http
