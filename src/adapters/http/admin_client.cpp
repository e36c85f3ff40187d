#include "snug/adapters/http/admin_client.hpp"

#include <curl/curl.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "snug/base/limits.hpp"

namespace snug::http {
namespace {

constexpr std::string_view kScheme = "http://";

/// Returns `server` without trailing slashes, or an empty text if it is not `http://HOST:PORT`.
std::string normalized_url(std::string server) {
  while (server.ends_with('/')) server.pop_back();
  const bool is_valid_url = server.starts_with(kScheme) && server.size() > kScheme.size() &&
                            server.find_first_of("/?#@ ", kScheme.size()) == std::string::npos;
  return is_valid_url ? server : "";
}

void append_escaped(std::string& url, const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> escaped(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
  if (escaped != nullptr) url += escaped.get();
}

std::string curl_problem(CURLcode curl_code) {
  switch (curl_code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
      return "cannot be connected to";
    default:
      return std::string{"does not answer ("} + curl_easy_strerror(curl_code) + ")";
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
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(curl, CURLOPT_PROXY, "");  // ignore proxies that environment variables set
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(base::kAdminConnectTimeoutMs));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(base::kAdminIdleTimeoutMs / 1'000));
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &append_to_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &reply_body);
}

}  // namespace

base::Result<AdminResponse> get_from_admin(const std::string& server, const std::string& path,
                                           const std::multimap<std::string, std::string>& query) {
  const std::string server_url = normalized_url(server);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  if (server_url.empty() || curl == nullptr) {
    return base::fail(base::ErrorCode::kInvalid,
                      "the server must be http://HOST:PORT, not \"" + server + "\"");
  }
  std::string url = server_url + path;
  for (char separator = '?'; const auto& [query_key, query_value] : query) {
    url += separator;
    append_escaped(url, query_key);
    url += '=';
    append_escaped(url, query_value);
    separator = '&';
  }
  AdminReplyBody reply_body;
  set_curl_options(curl.get(), url, reply_body);
  const CURLcode curl_code = curl_easy_perform(curl.get());
  if (reply_body.too_large) {
    return base::fail(base::ErrorCode::kTooLarge, server_url + " sent a reply that is too large");
  }
  if (curl_code == CURLE_URL_MALFORMAT) {
    return base::fail(base::ErrorCode::kInvalid,
                      "the server must be http://HOST:PORT, not \"" + server + "\"");
  }
  if (curl_code != CURLE_OK)
    return base::fail(base::ErrorCode::kUnavailable, server_url + " " + curl_problem(curl_code));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return AdminResponse{.status = static_cast<int>(status), .body = std::move(reply_body.text)};
}

}  // namespace snug::http
