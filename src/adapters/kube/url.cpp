#include "adapters/kube/url.hpp"

#include <algorithm>
#include <charconv>

namespace snug::kube {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Whether `text` contains a character that a host or a path of a URL must not contain.
bool has_invalid_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
           std::string_view("?#\"<>\\").contains(c);
  });
}

}  // namespace

std::optional<UrlAuthority> parse_authority(std::string_view text, std::uint16_t default_port) {
  UrlAuthority authority{.host = {}, .port = default_port};
  std::size_t host_end = std::min(text.find(':'), text.size());
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    authority.host = text.substr(1, bracket - 1);
    host_end = bracket + 1;
  } else {
    authority.host = text.substr(0, host_end);
  }
  text.remove_prefix(host_end);
  if (text.size() > 1 && text.front() == ':') {
    const char* text_end = text.data() + text.size();
    const auto [port_end, port_error] = std::from_chars(text.data() + 1, text_end, authority.port);
    if (port_error != std::errc() || port_end != text_end || authority.port == 0)
      return std::nullopt;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  if (authority.host.empty() || has_invalid_character(authority.host) ||
      authority.host.find_first_of("@%/") != std::string::npos)
    return std::nullopt;
  return authority;
}

std::optional<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl http_url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    http_url.tls = false;
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const std::size_t path_start = std::min(text.find('/'), text.size());
  auto server = parse_authority(text.substr(0, path_start), http_url.tls ? 443 : 80);
  if (!server) return std::nullopt;
  http_url.server = *std::move(server);
  http_url.path = text.substr(path_start);
  while (http_url.path.ends_with('/')) http_url.path.pop_back();
  if (has_invalid_character(http_url.path)) return std::nullopt;
  return http_url;
}

std::string encode_query(std::string_view value) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(value.size());
  for (const char c : value) {
    if (is_unreserved(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    encoded += '%';
    encoded += kHex[byte >> 4U];
    encoded += kHex[byte & 15U];
  }
  return encoded;
}

}  // namespace snug::kube
