// URLs of API servers and proxies. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug::kube {

struct UrlAuthority {
  std::string host;  // a name or an address, without brackets
  std::uint16_t port = 0;
};

/// `host`, `host:port`, `[v6]` or `[v6]:port`; without a port `default_port`. Nothing: malformed.
[[nodiscard]] std::optional<UrlAuthority> parse_authority(std::string_view text,
                                                          std::uint16_t default_port);

struct HttpUrl {
  bool tls = true;
  UrlAuthority server;
  std::string path;  // without slashes at its end
};

/// http or https, without user, query and fragment. Nothing: it is another text.
[[nodiscard]] std::optional<HttpUrl> parse_http_url(std::string_view text);

}  // namespace snug::kube
