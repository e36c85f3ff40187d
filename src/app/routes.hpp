// What the two ports answer with: the verbs of the extender's, the endpoints of the admin's.
#pragma once

#include <vector>

#include "app/service_core.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/metrics.hpp"

namespace snug::app {

/// The service outlives the handlers.
[[nodiscard]] http::ExtenderHandlers extender_handlers(service::ExtenderService& service);

/// `memory` is null outside of the embedded mode. All outlive the routes.
[[nodiscard]] std::vector<http::AdminRoute> admin_routes(ServiceCore& core,
                                                         obs::PrometheusMetrics& metrics,
                                                         memory::MemoryApi* memory);

}  // namespace snug::app
