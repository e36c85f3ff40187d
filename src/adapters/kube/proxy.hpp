// Which proxy leads to the API server, by the rules of client-go: Go's httpproxy for the
// environment, and a kubeconfig's `proxy-url` before it. Pure but for proxy_variables().
#pragma once

#include <string>
#include <string_view>

#include "snug/adapters/kube/api_endpoint.hpp"

namespace snug::kube {

/// The environment; empty: not set. The upper-case spelling wins over the lower-case one.
struct ProxyVariables {
  std::string http;      // HTTP_PROXY: for servers without TLS
  std::string https;     // HTTPS_PROXY: for servers with TLS
  std::string no_proxy;  // NO_PROXY: servers that need none
};

[[nodiscard]] ProxyVariables proxy_variables();

/// `SCHEME://[USER[:PASSWORD]@]HOST[:PORT]` with its port and in libcurl's words (socks5h for
/// socks5, since Go leaves names to the proxy). `source` is what the error names; the error does
/// not quote the text, which may hold a password.
[[nodiscard]] base::Result<std::string> parse_proxy(std::string_view text, std::string_view source);

/// The proxy that the environment sets for a server; empty: none. localhost and loopback addresses
/// never have one.
[[nodiscard]] base::Result<std::string> environment_proxy(const ApiEndpoint& endpoint,
                                                          const ProxyVariables& variables);

/// Whether an entry of NO_PROXY covers a server: `*`, a name and its subdomains, `.name` or
/// `*.name` for subdomains only, an address, each with or without `:port`, or a CIDR. Entries that
/// are none of these cover nothing.
[[nodiscard]] bool is_exempt(std::string_view host, std::uint16_t port, std::string_view no_proxy);

/// For messages.
[[nodiscard]] std::string proxy_without_password(const std::string& proxy);

}  // namespace snug::kube
