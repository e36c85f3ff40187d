// How the admin port is protected: what its clients must show, and the certificate that it shows
// them.
#pragma once

#include <memory>
#include <string>

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/clock.hpp"
#include "snug/config/options.hpp"
#include "snug/service/admin_access.hpp"

namespace snug::app {

/// Accepts one token, which is read from a file for each request, so that it may change at any
/// time. Thread-safe.
class TokenFileAccess final : public service::AdminAccess {
 public:
  TokenFileAccess(std::string path, const base::Limits& limits);

  /// Reads the file. The error message names it.
  [[nodiscard]] base::Result<std::string> read_token() const;
  [[nodiscard]] service::AccessAnswer check(const service::AccessQuestion& question) override;

 private:
  const std::string path_;
  const std::int64_t max_bytes_;
};

/// Returns the TLS options of the admin port, added to `options`: the configured certificate, or
/// one that is made and signed here if adminAuth is set, as kube-scheduler does.
[[nodiscard]] base::Result<http::HttpOptions> with_admin_tls(http::HttpOptions http_options,
                                                             const config::Options& options,
                                                             const base::WallClock& clock);

}  // namespace snug::app
