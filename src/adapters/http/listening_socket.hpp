// Opens a listening TCP socket.
#pragma once

#include <string>

#include "snug/base/result.hpp"

namespace snug::http {

struct ListeningSocket {
  int fd = -1;  // non-blocking; the caller must close it
  int port = 0;
};

/// Listens on an address. If `port` is 0, the kernel chooses a port. The error message names the
/// address.
[[nodiscard]] base::Result<ListeningSocket> listen_on(const std::string& host, int port,
                                                      int backlog);

}  // namespace snug::http
