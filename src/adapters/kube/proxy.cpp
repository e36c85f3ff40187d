#include "adapters/kube/proxy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <ranges>

#include "adapters/kube/url.hpp"

namespace snug::kube {
namespace {

struct ProxyScheme {
  std::string_view name;
  std::string_view name_for_libcurl;
  std::uint16_t default_port;
};
constexpr std::array kSchemes{ProxyScheme{"http", "http", 80}, ProxyScheme{"https", "https", 443},
                              ProxyScheme{"socks5", "socks5h", 1080},
                              ProxyScheme{"socks5h", "socks5h", 1080}};

struct IpAddress {
  std::size_t bits = 0;  // 32 for IPv4, 128 for IPv6
  std::array<std::uint8_t, 16> bytes{};

  friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

std::optional<IpAddress> parse_address(std::string_view text) {
  const std::string address_text(text);
  IpAddress address;
  if (::inet_pton(AF_INET, address_text.c_str(), address.bytes.data()) == 1) {
    address.bits = 32;
    return address;
  }
  if (::inet_pton(AF_INET6, address_text.c_str(), address.bytes.data()) != 1) return std::nullopt;
  address.bits = 128;
  constexpr std::array<std::uint8_t, 12> kIpv4MappedPrefix{0, 0, 0, 0, 0,    0,
                                                           0, 0, 0, 0, 0xFF, 0xFF};
  if (std::equal(kIpv4MappedPrefix.begin(), kIpv4MappedPrefix.end(), address.bytes.begin())) {
    IpAddress ipv4_address{.bits = 32, .bytes = {}};
    std::copy(address.bytes.begin() + 12, address.bytes.end(), ipv4_address.bytes.begin());
    return ipv4_address;
  }
  return address;
}

bool is_loopback(const IpAddress& address) {
  if (address.bits == 32) return address.bytes[0] == 127;
  return address == parse_address("::1");
}

/// Whether `address` is in the range `cidr`. Returns nullopt if `cidr` is not a valid CIDR
/// (`address/prefix`).
std::optional<bool> in_cidr_range(const std::optional<IpAddress>& address, std::string_view cidr) {
  const std::size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto range_start = parse_address(cidr.substr(0, slash));
  const std::string_view prefix_digits = cidr.substr(slash + 1);
  std::size_t prefix_length = 0;
  const auto [digits_end, digits_error] = std::from_chars(
      prefix_digits.data(), prefix_digits.data() + prefix_digits.size(), prefix_length);
  const bool is_number =
      digits_error == std::errc() && digits_end == prefix_digits.data() + prefix_digits.size();
  if (!range_start || !is_number || prefix_length > range_start->bits) return std::nullopt;
  if (!address || address->bits != range_start->bits) return false;
  for (std::size_t i = 0; i < prefix_length; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if (((address->bytes[i / 8] ^ range_start->bytes[i / 8]) & mask) != 0) return false;
  }
  return true;
}

std::string_view trim_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t text_start = text.find_first_not_of(kSpaces);
  if (text_start == std::string_view::npos) return {};
  return text.substr(text_start, text.find_last_not_of(kSpaces) - text_start + 1);
}

std::string to_lower_case(std::string_view text) {
  std::string lower_case(text);
  std::ranges::transform(lower_case, lower_case.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower_case;
}

struct NoProxyEntry {
  std::string_view host;
  std::string_view port;  // empty: any port
};

/// Splits `host:port`. The port of the result is empty if `entry_text` has none.
NoProxyEntry split_port(std::string_view entry_text) {
  const std::size_t port_colon = entry_text.rfind(':');
  if (port_colon == std::string_view::npos) return {entry_text, {}};
  const std::string_view entry_host = entry_text.substr(0, port_colon);
  if (entry_host.starts_with('[') && entry_host.ends_with(']')) {
    return {entry_host.substr(1, entry_host.size() - 2), entry_text.substr(port_colon + 1)};
  }
  if (entry_host.find(':') != std::string_view::npos) return {entry_text, {}};  // IPv6, no port
  return {entry_host, entry_text.substr(port_colon + 1)};
}

struct TargetServer {
  std::string host;  // lower case
  std::optional<IpAddress> address;
  std::string port;
};

bool entry_covers(std::string_view entry_text, const TargetServer& target) {
  if (entry_text == "*") return true;
  if (const auto is_in_range = in_cidr_range(target.address, entry_text)) return *is_in_range;
  NoProxyEntry entry = split_port(entry_text);
  if (entry.host.empty() || (!entry.port.empty() && entry.port != target.port)) return false;
  if (const auto entry_address = parse_address(entry.host)) return target.address == entry_address;
  if (entry.host.starts_with("*.")) entry.host.remove_prefix(1);
  if (entry.host.starts_with('.')) return target.host.ends_with(entry.host);
  return target.host == entry.host || target.host.ends_with("." + std::string(entry.host));
}

std::string first_variable(const char* upper, const char* lower) {
  for (const char* variable : {upper, lower}) {
    const char* value = std::getenv(variable);
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

base::Result<std::string> parse_proxy(std::string_view proxy_text, std::string_view source) {
  const auto refuse_proxy = [&] {
    return base::fail(
        base::ErrorCode::kInvalid,
        std::string(source) +
            " must be a proxy like http://host:3128, with the scheme http, https or socks5");
  };
  const std::size_t scheme_end = proxy_text.find("://");
  if (scheme_end == std::string_view::npos) return refuse_proxy();
  const auto proxy_scheme = std::ranges::find(
      kSchemes, to_lower_case(proxy_text.substr(0, scheme_end)), &ProxyScheme::name);
  if (proxy_scheme == kSchemes.end()) return refuse_proxy();
  std::string_view proxy_authority = proxy_text.substr(scheme_end + 3);
  if (proxy_authority.ends_with('/')) proxy_authority.remove_suffix(1);
  const std::size_t at_sign = proxy_authority.rfind('@');
  const std::string_view user_info =
      at_sign == std::string_view::npos ? "" : proxy_authority.substr(0, at_sign + 1);
  proxy_authority.remove_prefix(user_info.size());
  const bool clean_user_info =
      std::ranges::all_of(user_info, [](char c) { return c > ' ' && c < '\x7f'; }) &&
      user_info.find_first_of("/?#") == std::string_view::npos;
  const auto proxy_server = parse_authority(proxy_authority, proxy_scheme->default_port);
  if (!proxy_server || !clean_user_info) return refuse_proxy();
  const bool is_ipv6 = proxy_server->host.find(':') != std::string::npos;
  std::string proxy_url(proxy_scheme->name_for_libcurl);
  proxy_url.append("://")
      .append(user_info)
      .append(is_ipv6 ? "[" : "")
      .append(proxy_server->host)
      .append(is_ipv6 ? "]" : "");
  return proxy_url.append(":").append(std::to_string(proxy_server->port));
}

bool is_exempt(std::string_view host, std::uint16_t port, std::string_view no_proxy) {
  const TargetServer target{to_lower_case(host), parse_address(host), std::to_string(port)};
  if (target.host == "localhost" || (target.address && is_loopback(*target.address))) return true;
  for (const auto entry_part : std::views::split(no_proxy, ',')) {
    const std::string entry_text =
        to_lower_case(trim_spaces({entry_part.begin(), entry_part.end()}));
    if (!entry_text.empty() && entry_covers(entry_text, target)) return true;
  }
  return false;
}

base::Result<std::string> environment_proxy(const ApiEndpoint& endpoint,
                                            const ProxyVariables& variables) {
  const std::string& proxy_text = endpoint.tls ? variables.https : variables.http;
  if (proxy_text.empty()) return std::string();
  // As in Go, the variables may omit the scheme, which is then http.
  const bool has_scheme = proxy_text.find("://") != std::string::npos;
  auto proxy = parse_proxy(has_scheme ? proxy_text : "http://" + proxy_text,
                           endpoint.tls ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (!proxy || !is_exempt(endpoint.host, endpoint.port, variables.no_proxy)) return proxy;
  return std::string();
}

std::string proxy_without_password(const std::string& proxy) {
  const std::size_t at_sign = proxy.rfind('@');
  if (at_sign == std::string::npos) return proxy;
  return proxy.substr(0, proxy.find("://") + 3) + proxy.substr(at_sign + 1);
}

}  // namespace snug::kube
