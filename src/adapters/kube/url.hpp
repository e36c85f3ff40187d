// Parses the URLs of API servers and proxies, and encodes parts of them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug::kube {

struct UrlAuthority {
  std::string host;  // a host name or an IP address, without brackets
  std::uint16_t port = 0;
};

/// Parses `host`, `host:port`, `[IPv6]` or `[IPv6]:port`. The port is `default_port` if `text` has
/// none. Returns nullopt if `text` is malformed.
[[nodiscard]] std::optional<UrlAuthority> parse_authority(std::string_view text,
                                                          std::uint16_t default_port);

struct HttpUrl {
  bool tls = true;
  UrlAuthority server;
  std::string path;  // path of the URL without final slashes
};

/// Parses an http or https URL without user, query and fragment. Returns nullopt if `text` is not
/// such a URL.
[[nodiscard]] std::optional<HttpUrl> parse_http_url(std::string_view text);

/// Percent-encodes `value`, except the characters that RFC 3986 calls unreserved.
[[nodiscard]] std::string encode_query(std::string_view value);

}  // namespace snug::kube
