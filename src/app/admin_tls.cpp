#include "app/admin_tls.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "snug/adapters/http/certificate_maker.hpp"

namespace snug::app {
namespace {

/// Nobody can check a certificate that signs itself, so its end means little. It must not come
/// while the process runs.
constexpr std::chrono::days kSelfSignedValidity{3'650};
constexpr std::chrono::hours kClockDifference{24};

}  // namespace

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
