#include "adapters/kube/proxy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "adapters/kube/url.hpp"

namespace snug::kube {
namespace {

struct Scheme {
  std::string_view name;
  std::string_view libcurl_name;
  std::uint16_t port;
};
constexpr std::array kSchemes{Scheme{"http", "http", 80}, Scheme{"https", "https", 443},
                              Scheme{"socks5", "socks5h", 1080},
                              Scheme{"socks5h", "socks5h", 1080}};

struct Address {
  std::size_t bits = 0;  // 32 for IPv4, 128 for IPv6
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const Address&, const Address&) = default;
};

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address found;
  if (::inet_pton(AF_INET, copy.c_str(), found.bytes.data()) == 1) {
    found.bits = 32;
    return found;
  }
  if (::inet_pton(AF_INET6, copy.c_str(), found.bytes.data()) != 1) return std::nullopt;
  found.bits = 128;
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(kMapped.begin(), kMapped.end(), found.bytes.begin())) {
    Address v4{.bits = 32, .bytes = {}};
    std::copy(found.bytes.begin() + 12, found.bytes.end(), v4.bytes.begin());
    return v4;
  }
  return found;
}

bool is_loopback(const Address& address) {
  if (address.bits == 32) return address.bytes[0] == 127;
  return address == parse_address("::1");
}

/// Whether `address` is in the range `text`. Returns nullopt if `text` is not a valid CIDR
/// (`address/prefix`).
std::optional<bool> in_range(const std::optional<Address>& address, std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto base = parse_address(text.substr(0, slash));
  const std::string_view digits = text.substr(slash + 1);
  std::size_t prefix = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), prefix);
  const bool number = error == std::errc() && end == digits.data() + digits.size();
  if (!base || !number || prefix > base->bits) return std::nullopt;
  if (!address || address->bits != base->bits) return false;
  for (std::size_t i = 0; i < prefix; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if (((address->bytes[i / 8] ^ base->bytes[i / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

struct Entry {
  std::string_view host;
  std::string_view port;  // empty: any port
};

/// Splits `host:port`. The port of the result is empty if `text` has none.
Entry split_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {text, {}};
  const std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    return {host.substr(1, host.size() - 2), text.substr(colon + 1)};
  }
  if (host.find(':') != std::string_view::npos) return {text, {}};  // IPv6, no port
  return {host, text.substr(colon + 1)};
}

struct Server {
  std::string host;  // lower case
  std::optional<Address> address;
  std::string port;
};

bool covers(std::string_view text, const Server& server) {
  if (text == "*") return true;
  if (const auto in = in_range(server.address, text)) return *in;
  Entry entry = split_port(text);
  if (entry.host.empty() || (!entry.port.empty() && entry.port != server.port)) return false;
  if (const auto address = parse_address(entry.host)) return server.address == address;
  if (entry.host.starts_with("*.")) entry.host.remove_prefix(1);
  if (entry.host.starts_with('.')) return server.host.ends_with(entry.host);
  return server.host == entry.host || server.host.ends_with("." + std::string(entry.host));
}

std::string first_variable(const char* upper, const char* lower) {
  for (const char* name : {upper, lower}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

}  // namespace

ProxyVariables proxy_variables() {
  return {.http = first_variable("HTTP_PROXY", "http_proxy"),
          .https = first_variable("HTTPS_PROXY", "https_proxy"),
          .no_proxy = first_variable("NO_PROXY", "no_proxy")};
}

base::Result<std::string> parse_proxy(std::string_view text, std::string_view source) {
  const auto refused = [&] {
    return base::fail(
        base::ErrorCode::kInvalid,
        std::string(source) +
            " must be a proxy like http://host:3128, with the scheme http, https or socks5");
  };
  const std::size_t colon = text.find("://");
  if (colon == std::string_view::npos) return refused();
  const auto scheme = std::ranges::find(kSchemes, lowered(text.substr(0, colon)), &Scheme::name);
  if (scheme == kSchemes.end()) return refused();
  std::string_view rest = text.substr(colon + 3);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const std::size_t at = rest.rfind('@');
  const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at + 1);
  rest.remove_prefix(user.size());
  const bool clean = std::ranges::all_of(user, [](char c) { return c > ' ' && c < '\x7f'; }) &&
                     user.find_first_of("/?#") == std::string_view::npos;
  const auto server = parse_authority(rest, scheme->port);
  if (!server || !clean) return refused();
  const bool v6 = server->host.find(':') != std::string::npos;
  std::string url(scheme->libcurl_name);
  url.append("://").append(user).append(v6 ? "[" : "").append(server->host).append(v6 ? "]" : "");
  return url.append(":").append(std::to_string(server->port));
}

bool is_exempt(std::string_view host, std::uint16_t port, std::string_view no_proxy) {
  const Server server{lowered(host), parse_address(host), std::to_string(port)};
  if (server.host == "localhost" || (server.address && is_loopback(*server.address))) return true;
  while (!no_proxy.empty()) {
    const std::size_t comma = std::min(no_proxy.find(','), no_proxy.size());
    const std::string entry = lowered(trimmed(no_proxy.substr(0, comma)));
    if (!entry.empty() && covers(entry, server)) return true;
    no_proxy.remove_prefix(std::min(comma + 1, no_proxy.size()));
  }
  return false;
}

base::Result<std::string> environment_proxy(const ApiEndpoint& endpoint,
                                            const ProxyVariables& variables) {
  const std::string& text = endpoint.tls ? variables.https : variables.http;
  if (text.empty()) return std::string();
  // As in Go, the variables may omit the scheme, which is then http.
  const bool has_scheme = text.find("://") != std::string::npos;
  auto proxy = parse_proxy(has_scheme ? text : "http://" + text,
                           endpoint.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (!proxy || !is_exempt(endpoint.host, endpoint.port, variables.no_proxy)) return proxy;
  return std::string();
}

std::string proxy_without_password(const std::string& proxy) {
  const std::size_t at = proxy.rfind('@');
  if (at == std::string::npos) return proxy;
  return proxy.substr(0, proxy.find("://") + 3) + proxy.substr(at + 1);
}

}  // namespace snug::kube
