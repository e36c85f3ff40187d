// The certificate of the admin port.
#pragma once

#include "snug/adapters/http/http_options.hpp"
#include "snug/base/clock.hpp"
#include "snug/config/options.hpp"

namespace snug::app {

/// Returns `http_options` with the certificate of the admin port: the configured one, or one that
/// is made and signed here if adminAuth is set, as kube-scheduler does. The certificate that is
/// made is for `localhost`, 127.0.0.1 and the name `snug-admin`.
[[nodiscard]] base::Result<http::HttpOptions> with_admin_tls(http::HttpOptions http_options,
                                                             const config::Options& options,
                                                             const base::WallClock& clock);

}  // namespace snug::app
