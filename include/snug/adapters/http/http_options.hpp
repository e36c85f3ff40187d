// The address and the TLS certificates of an HTTP server. Its limits are in base/limits.hpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/admission/certificate_rotation.hpp"
#include "snug/base/clock.hpp"

namespace snug::http {

/// Paths of PEM files. The server reloads the files when they change. If a reload fails, the server
/// continues with the last valid certificates.
struct TlsFiles {
  std::string cert;  // the certificate chain, leaf first
  std::string key;
  /// Each client must present a certificate of this CA. Empty: clients need no certificate.
  std::string client_ca;
  /// The common name or a DNS name of a client's certificate must be one of these. Empty: any name.
  std::vector<std::string> client_names = {};
};

/// Returns HOST:PORT as in a URL, with an IPv6 host in brackets.
[[nodiscard]] std::string address_text(const std::string& host, int port);

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 0;  // 0: the kernel chooses a port
  std::optional<TlsFiles> tls = {};
  /// Called from any thread with a message for the operator, for example that a certificate could
  /// not be reloaded or that a handler threw an exception. The message contains no data from a
  /// client.
  std::function<void(std::string_view)> on_problem = {};
  /// The clock that all deadlines use. It must outlive the server. Null: a SteadyClock.
  const base::Clock* clock = nullptr;
  /// Used for TLS in place of `tls`, unless empty. Called for each new connection. Returns the
  /// current certificate. If it returns null, the server closes the connection.
  std::function<std::shared_ptr<const admission::ServerIdentity>()> tls_identity = {};
};

}  // namespace snug::http
