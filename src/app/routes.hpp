// Connects the ports to the service: handlers for the verbs of the extender port, and the routes of
// the admin port.
#pragma once

#include <vector>

#include "app/service_core.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/metrics.hpp"

namespace snug::app {

/// Returns handlers that call `service`, which must outlive them.
[[nodiscard]] http::ExtenderHandlers extender_handlers(service::ExtenderService& service);

/// Returns the routes of the admin port. All arguments must outlive them. `memory` is null unless
/// Snug runs in embedded mode.
[[nodiscard]] std::vector<http::AdminRoute> admin_routes(ServiceCore& core,
                                                         obs::PrometheusMetrics& metrics,
                                                         memory::MemoryApi* memory);

}  // namespace snug::app
