#include "app/admin_access.hpp"

#include <chrono>
#include <cstddef>
#include <utility>

#include "snug/adapters/http/certificate_maker.hpp"
#include "snug/config/files.hpp"

namespace snug::app {
namespace {

/// Nobody can check a certificate that signs itself, so its end means little. It must not come
/// while the process runs.
constexpr std::chrono::days kSelfSignedValidity{3'650};
constexpr std::chrono::hours kClockDifference{24};

/// The time that it takes does not tell how many characters of a guess are right.
bool is_same_token(std::string_view guess, std::string_view token) {
  unsigned difference = guess.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < guess.size(); ++i) {
    const char expected = token[i % token.size()];
    difference |= static_cast<unsigned>(static_cast<unsigned char>(guess[i] ^ expected));
  }
  return difference == 0;
}

}  // namespace

TokenFileAccess::TokenFileAccess(std::string path, const base::Limits& limits)
    : path_(std::move(path)), max_bytes_(limits.max_token_bytes) {}

base::Result<std::string> TokenFileAccess::read_token() const {
  base::Result<std::string> text = config::read_file(path_, max_bytes_);
  if (!text) return base::fail(text.error().code, "adminTokenFile: " + text.error().message);
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  if (!service::bearer_token("Bearer " + *text)) {
    return base::fail(base::ErrorCode::kInvalid,
                      "adminTokenFile: " + path_ + " must contain one token, without blanks");
  }
  return text;
}

service::AccessAnswer TokenFileAccess::check(const service::AccessQuestion& question) {
  const auto token = service::bearer_token(question.authorization);
  if (!token) return service::no_token();
  const base::Result<std::string> expected = read_token();
  if (!expected) return {.status = 503, .sentence = "Snug cannot read its token file; see its log"};
  if (!is_same_token(*token, *expected)) return service::invalid_token();
  return {.level = service::AccessAnswer::Level::kAll};
}

base::Result<http::HttpOptions> with_admin_tls(http::HttpOptions http_options,
                                               const config::Options& options,
                                               const base::WallClock& clock) {
  if (!options.admin_tls_cert.empty()) {
    http_options.tls = http::TlsFiles{
        .cert = options.admin_tls_cert, .key = options.admin_tls_key, .client_ca = {}};
    return http_options;
  }
  if (options.admin_auth == config::AdminAuth::kNone) return http_options;
  http::OpensslCertificateMaker maker({"snug-admin", "localhost"}, {"127.0.0.1"});
  const admission::WallTime now = clock.now();
  base::Result<admission::ServerIdentity> identity =
      maker.make({.from = now - kClockDifference, .until = now + kSelfSignedValidity});
  if (!identity) return std::unexpected(std::move(identity.error()));
  http_options.tls_identity = [shared = std::make_shared<const admission::ServerIdentity>(
                                   *std::move(identity))] { return shared; };
  return http_options;
}

}  // namespace snug::app
