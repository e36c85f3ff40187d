#include "snug/adapters/http/admin_client.hpp"

#include <arpa/inet.h>
#include <curl/curl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>

#include "adapters/http/no_reply.hpp"
#include "snug/base/limits.hpp"

namespace snug::http {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kTls = "https://";
/// Ends a reply of a server that sends a few bytes now and then.
constexpr std::chrono::milliseconds kReplyTimeout{base::kAdminReplyTimeoutMs};

/// Returns `url` without trailing slashes, or an empty text if it is not `http://HOST:PORT` or
/// `https://HOST:PORT`.
std::string normalized_url(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const std::size_t host = url.starts_with(kTls) ? kTls.size() : kPlain.size();
  const bool is_valid_url = (url.starts_with(kPlain) || url.starts_with(kTls)) &&
                            url.size() > host &&
                            url.find_first_of("/?#@ ", host) == std::string::npos;
  return is_valid_url ? url : "";
}

/// Whether the host of `http://HOST:PORT` is this machine for certain.
bool is_loopback(std::string_view plain_url) {
  std::string host(plain_url.substr(kPlain.size()));
  if (!host.ends_with(']')) host.resize(std::min(host.size(), host.rfind(':')));
  in_addr address{};
  const bool is_ipv4 = inet_pton(AF_INET, host.c_str(), &address) == 1;
  return (is_ipv4 && host.starts_with("127.")) || host == "[::1]" || host == "localhost";
}

void append_escaped(std::string& url, const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
  if (escaped != nullptr) url += escaped.get();
}

/// Why curl got no reply. `system_error` is the errno of its last failed connect; 0 if there is
/// none.
NoReply no_reply(CURLcode curl_code, long system_error, bool connected) {
  switch (curl_code) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return NoReply::kUnknownHost;
    case CURLE_COULDNT_CONNECT:
      if (system_error == ENETUNREACH || system_error == EHOSTUNREACH) return NoReply::kUnreachable;
      return system_error == ETIMEDOUT ? NoReply::kTimedOut : NoReply::kRefused;
    case CURLE_OPERATION_TIMEDOUT:
      return connected ? NoReply::kSilent : NoReply::kTimedOut;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
      return NoReply::kClosed;
    case CURLE_SSL_CONNECT_ERROR:
      return NoReply::kNotTls;
    case CURLE_PEER_FAILED_VERIFICATION:
      return NoReply::kUntrusted;
    case CURLE_SSL_CACERT_BADFILE:
      return NoReply::kBadAuthority;
    case CURLE_UNSUPPORTED_PROTOCOL:  // no status line
    case CURLE_WEIRD_SERVER_REPLY:
      return NoReply::kNotHttp;
    default:
      return NoReply::kOther;
  }
}

struct AdminReplyBody {
  std::string text;
  bool too_large = false;
};

std::size_t append_to_body(char* chunk, std::size_t, std::size_t chunk_size, void* user_data) {
  AdminReplyBody& reply_body = *static_cast<AdminReplyBody*>(user_data);
  reply_body.too_large = reply_body.text.size() + chunk_size > base::kMaxAdminReplyBytes;
  if (reply_body.too_large) return 0;
  reply_body.text.append(chunk, chunk_size);
  return chunk_size;
}

void set_curl_options(CURL* curl, const std::string& url, AdminReplyBody& reply_body) {
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  // The admin port has no HTTP/2. libcurl would offer it, and a forged server could choose it.
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // ignore proxies that environment variables set
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(base::kAdminConnectTimeoutMs));
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(kReplyTimeout.count()));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(base::kAdminIdleTimeoutMs / 1'000));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_to_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply_body);
}

void set_curl_security(CURL* curl, const AdminTarget& target) {
  curl_easy_setopt(curl, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (!target.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, target.ca_file.c_str());
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, target.checks_certificate ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, target.checks_certificate ? 2L : 0L);
  if (target.token.empty()) return;
  curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
  curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, target.token.c_str());
}

base::Error not_a_server(const std::string& url) {
  return {base::ErrorCode::kInvalid,
          "the server must be http://HOST:PORT or https://HOST:PORT, not \"" + url + "\""};
}

std::string query_text(const std::multimap<std::string, std::string>& query) {
  std::string text;
  for (char separator = '?'; const auto& [query_key, query_value] : query) {
    text += separator;
    append_escaped(text, query_key);
    text += '=';
    append_escaped(text, query_value);
    separator = '&';
  }
  return text;
}

}  // namespace

base::Result<AdminResponse> get_from_admin(const AdminTarget& target, const std::string& path,
                                           const std::multimap<std::string, std::string>& query) {
  const std::string server_url = normalized_url(target.url);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  if (server_url.empty() || curl == nullptr) return std::unexpected(not_a_server(target.url));
  if (!target.token.empty() && server_url.starts_with(kPlain) && !is_loopback(server_url)) {
    return base::fail(base::ErrorCode::kInvalid,
                      "the token would be sent to " + server_url +
                          " without TLS, where others can read it; use https://");
  }
  AdminReplyBody reply_body;
  set_curl_options(curl.get(), server_url + path + query_text(query), reply_body);
  set_curl_security(curl.get(), target);
  const auto begin = std::chrono::steady_clock::now();
  const CURLcode curl_code = curl_easy_perform(curl.get());
  const bool is_time_over = std::chrono::steady_clock::now() - begin >= kReplyTimeout;
  if (reply_body.too_large) {
    return base::fail(base::ErrorCode::kTooLarge, server_url + " sent a reply that is too large");
  }
  if (curl_code == CURLE_URL_MALFORMAT) return std::unexpected(not_a_server(target.url));
  if (curl_code != CURLE_OK) {
    long system_error = 0;
    curl_off_t connect_time = 0;  // 0: not connected
    curl_easy_getinfo(curl.get(), CURLINFO_OS_ERRNO, &system_error);
    curl_easy_getinfo(curl.get(), CURLINFO_CONNECT_TIME_T, &connect_time);
    if (curl_code == CURLE_OPERATION_TIMEDOUT && connect_time > 0 && is_time_over) {
      return base::fail(base::ErrorCode::kUnavailable,
                        server_url + " has not sent its whole reply within " +
                            std::to_string(kReplyTimeout.count() / 1'000) +
                            " s: the connection is too slow, or another program has this port");
    }
    return base::fail(base::ErrorCode::kUnavailable,
                      no_reply_sentence(no_reply(curl_code, system_error, connect_time > 0),
                                        server_url, curl_easy_strerror(curl_code)));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return AdminResponse{.status = static_cast<int>(status), .body = std::move(reply_body.text)};
}

}  // namespace snug::http
