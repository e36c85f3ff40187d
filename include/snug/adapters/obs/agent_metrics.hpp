// The metrics of snug-agent in Prometheus' text format. Each series exists from the start. Of
// service::Metrics, which the connection to the API server uses, only requests and watches are
// counted. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "snug/agent_service/agent_metrics.hpp"
#include "snug/service/ports.hpp"

namespace snug::obs {

class PrometheusAgentMetrics : public agent_service::AgentMetrics, public service::Metrics {
 public:
  /// Returns the body of the reply to GET /metrics, of type `text/plain; version=0.0.4`.
  [[nodiscard]] virtual std::string exposition() const = 0;
};

/// `version`: of the program.
[[nodiscard]] std::unique_ptr<PrometheusAgentMetrics> make_agent_metrics(
    const std::string& version);

}  // namespace snug::obs
