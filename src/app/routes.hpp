// What the two ports answer with: the verbs of the extender's, the endpoints of the admin's.
#pragma once

#include <vector>

#include "app/core.hpp"
#include "snug/adapters/http/admin_server.hpp"
#include "snug/adapters/http/extender_server.hpp"
#include "snug/adapters/memory/memory_api.hpp"
#include "snug/adapters/obs/metrics.hpp"

namespace snug {

/// The service outlives the handlers.
[[nodiscard]] ExtenderHandlers extender_handlers(ExtenderService& service);

/// `memory` is null outside of the embedded mode. All outlive the routes.
[[nodiscard]] std::vector<AdminRoute> admin_routes(Core& core, PrometheusMetrics& metrics,
                                                   MemoryApi* memory);

}  // namespace snug
