#include "adapters/http/dashboard.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>

#include "dashboard_page.hpp"
#include "snug/base/check.hpp"

namespace snug::http {
namespace {

std::string_view dashboard_page() {
  static_assert(sizeof(char) == sizeof(kDashboardPage[0]));
  return {reinterpret_cast<const char*>(kDashboardPage), sizeof(kDashboardPage)};
}

/// Returns the text between the page's only `<element>` and `</element>`.
std::string_view text_of(std::string_view element) {
  const std::string_view page = dashboard_page();
  const std::string start_tag = "<" + std::string(element) + ">";
  const std::size_t start = page.find(start_tag);
  const std::size_t end = page.find("</" + std::string(element) + ">");
  SNUG_CHECK(start != std::string_view::npos && end != std::string_view::npos && start < end);
  return page.substr(start + start_tag.size(), end - start - start_tag.size());
}

/// Returns the source expression of a policy that allows exactly `text`: 'sha256-BASE64'.
std::string hash_source(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int digest_size = 0;
  SNUG_CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &digest_size, EVP_sha256(),
                        nullptr) == 1);
  std::array<unsigned char, std::size_t{2} * EVP_MAX_MD_SIZE> encoded{};
  const int encoded_size =
      EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest_size));
  return "'sha256-" + std::string(encoded.begin(), encoded.begin() + encoded_size) + "'";
}

std::string content_security_policy() {
  // The script makes no markup from text; require-trusted-types-for has the browser enforce that.
  return "default-src 'none'; script-src " + hash_source(text_of("script")) + "; style-src " +
         hash_source(text_of("style")) +
         "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
}

/// Whether the parameters of a media range have the quality 0, as in `;q=0.0`.
bool is_refused(std::string_view parameters) {
  std::string compact;
  for (const char c : parameters) {
    if (c != ' ' && c != '\t') compact += c == 'Q' ? 'q' : c;
  }
  const std::size_t quality = compact.find(";q=");
  if (quality == std::string::npos) return false;
  const std::string_view value = std::string_view(compact).substr(quality + 3);
  return value.starts_with('0') &&
         value.substr(0, value.find(';')).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool accepts_html(std::string_view accept) {
  constexpr std::string_view kHtml = "text/html";
  while (!accept.empty()) {
    std::string_view range = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(accept.size(), range.size() + 1));
    const std::string_view parameters = range.substr(std::min(range.find(';'), range.size()));
    range.remove_suffix(parameters.size());
    const std::size_t first = range.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    range = range.substr(first, range.find_last_not_of(" \t") + 1 - first);
    const auto is_same_letter = [](unsigned char a, unsigned char b) {
      return std::tolower(a) == std::tolower(b);
    };
    if (std::ranges::equal(range, kHtml, is_same_letter)) return !is_refused(parameters);
  }
  return false;
}

AdminReply dashboard_reply() {
  static const std::string policy = content_security_policy();
  return {.body = std::string(dashboard_page()),
          .content_type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy", policy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Resource-Policy", "same-origin"},
                      {"Cache-Control", "no-cache"},
                      {"Vary", "Accept"}}};
}

}  // namespace snug::http
