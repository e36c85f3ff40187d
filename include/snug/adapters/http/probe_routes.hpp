// The routes of a program whose port has probes and metrics alone: /livez, /readyz and /metrics.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "snug/adapters/http/admin_server.hpp"

namespace snug::http {

/// The functions are called by several threads at once.
struct ProbeAnswers {
  std::string readiness;                       // the summary of /readyz
  std::function<std::string()> why_not_ready;  // empty: it is ready
  std::function<std::string()> exposition;     // the metrics as Prometheus' text
};

[[nodiscard]] std::vector<AdminRoute> probe_routes(ProbeAnswers answers);

}  // namespace snug::http
