// Where an HTTP server listens, and with which certificates. Bounds come from base/limits.hpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/clock.hpp"

namespace snug {

/// PEM files, read again when they change; a change that cannot be read keeps the last good ones.
struct TlsFiles {
  std::string cert;  // the chain, leaf first
  std::string key;
  std::string client_ca;  // empty: clients need no certificate; else TLS 1.2+ with one of this CA
};

/// HOST:PORT, an IPv6 host in brackets, as it stands in a URL.
[[nodiscard]] std::string address_text(const std::string& host, int port);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: the kernel picks one
  std::optional<TlsFiles> tls = {};
  /// Told what an operator should know (a certificate that could not be reloaded, an exception in a
  /// handler). May be called from any thread; never with what a client sent.
  std::function<void(std::string_view)> on_problem = {};
  /// Clock of all deadlines; null: SteadyClock. It outlives the server.
  const Clock* clock = nullptr;
};

}  // namespace snug
