// Opens a listening TCP socket.
#pragma once

#include <string>

#include "snug/base/result.hpp"

namespace snug::http {

struct ListeningSocket {
  int fd = -1;  // non-blocking; the caller's
  int port = 0;
};

/// Port 0: the kernel picks one. The error names the address.
[[nodiscard]] base::Result<ListeningSocket> listen_on(const std::string& host, int port,
                                                      int backlog);

}  // namespace snug::http
