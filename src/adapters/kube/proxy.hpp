// Finds the proxy for the API server by the rules of client-go: `proxy-url` of the kubeconfig comes
// first, then the environment variables, as Go's httpproxy package reads them. All functions are
// pure, except proxy_variables().
#pragma once

#include <string>
#include <string_view>

#include "snug/adapters/kube/api_endpoint.hpp"

namespace snug::kube {

/// The proxy variables of the environment; empty: not set. If a variable is set both in capitals
/// and in small letters (HTTP_PROXY and http_proxy), the one in capitals is used.
struct ProxyVariables {
  std::string http;      // HTTP_PROXY: for servers without TLS
  std::string https;     // HTTPS_PROXY: for servers with TLS
  std::string no_proxy;  // NO_PROXY: servers that are reached without a proxy
};

/// Reads the variables from the environment of this process.
[[nodiscard]] ProxyVariables proxy_variables();

/// Parses `SCHEME://[USER[:PASSWORD]@]HOST[:PORT]` and returns it with a port and with libcurl's
/// name of the scheme. For `socks5` this name is `socks5h`, because Go too lets a SOCKS5 proxy
/// resolve host names. An error names `source`, the setting or variable that holds `proxy_text`; it
/// does not quote `proxy_text`, which may contain a password.
[[nodiscard]] base::Result<std::string> parse_proxy(std::string_view proxy_text,
                                                    std::string_view source);

/// Returns the proxy that `variables` name for the server of `endpoint`; empty: no proxy. Localhost
/// and loopback addresses are always reached without a proxy.
[[nodiscard]] base::Result<std::string> environment_proxy(const ApiEndpoint& endpoint,
                                                          const ProxyVariables& variables);

/// Whether a server is reached without a proxy: because it is localhost or a loopback address, or
/// because an entry of `no_proxy` covers it. An entry is `*`, a CIDR, an address, a name (which
/// covers its subdomains too), or `.name` or `*.name` (which cover only the subdomains). Addresses
/// and names may have a `:port`. Other entries cover no server.
[[nodiscard]] bool is_exempt(std::string_view host, std::uint16_t port, std::string_view no_proxy);

/// Returns the URL of the proxy without user and password, for messages.
[[nodiscard]] std::string proxy_without_password(const std::string& proxy);

}  // namespace snug::kube
