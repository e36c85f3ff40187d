// Where an HTTP server listens, and with which certificates. Bounds come from base/limits.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"

namespace snug::http {

/// PEM files. They are reloaded when they change; after a failed reload the last valid ones stay.
struct TlsFiles {
  std::string cert;  // the chain, leaf first
  std::string key;
  std::string client_ca;  // empty: clients need no certificate; else TLS 1.2+ with one of this CA
};

/// HOST:PORT as in a URL: an IPv6 host is in brackets.
[[nodiscard]] std::string address_text(const std::string& host, int port);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: the kernel picks one
  std::optional<TlsFiles> tls = {};
  /// Called with problems for the operator (a certificate that could not be reloaded, an exception
  /// in a handler), from any thread. The text never contains data from a client.
  std::function<void(std::string_view)> on_problem = {};
  /// Clock of all deadlines; null: SteadyClock. It outlives the server.
  const base::Clock* clock = nullptr;
};

}  // namespace snug::http
