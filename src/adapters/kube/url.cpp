#include "adapters/kube/url.hpp"

#include <algorithm>
#include <charconv>

namespace snug::kube {
namespace {

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::optional<UrlAuthority> parse_authority(std::string_view text, std::uint16_t default_port) {
  UrlAuthority found{.host = {}, .port = default_port};
  std::size_t host_end = std::min(text.find(':'), text.size());
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return std::nullopt;
    found.host = text.substr(1, bracket - 1);
    host_end = bracket + 1;
  } else {
    found.host = text.substr(0, host_end);
  }
  text.remove_prefix(host_end);
  if (text.size() > 1 && text.front() == ':') {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 1, end, found.port);
    if (error != std::errc() || rest != end || found.port == 0) return std::nullopt;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  const bool clean = found.host.find_first_of(" @?#%/\r\n\t\"<>\\") == std::string::npos;
  if (found.host.empty() || !clean) return std::nullopt;
  return found;
}

std::optional<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    url.tls = false;
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  const std::size_t slash = std::min(text.find('/'), text.size());
  auto server = parse_authority(text.substr(0, slash), url.tls ? 443 : 80);
  if (!server) return std::nullopt;
  url.server = *std::move(server);
  url.path = text.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  if (url.path.find_first_of(" ?#\r\n\t\"<>\\") != std::string::npos) return std::nullopt;
  return url;
}

std::string encode_query(std::string_view value) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  out.reserve(value.size());
  for (const char c : value) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

}  // namespace snug::kube
