// The metrics of snug-mps in Prometheus' text format. Each series exists from the start.
// Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "snug/mps_service/ports.hpp"

namespace snug::obs {

class PrometheusMpsMetrics final : public mps_service::MpsMetrics {
 public:
  /// `version`: of the program.
  explicit PrometheusMpsMetrics(const std::string& version);
  ~PrometheusMpsMetrics() override;
  PrometheusMpsMetrics(const PrometheusMpsMetrics&) = delete;
  PrometheusMpsMetrics& operator=(const PrometheusMpsMetrics&) = delete;

  void daemons(const std::map<mps::DaemonPhase, std::int64_t>& numbers) override;
  void daemon_started() override;
  void daemon_failed() override;
  /// Returns the body of the reply to GET /metrics, of type `text/plain; version=0.0.4`.
  [[nodiscard]] std::string exposition() const;

 private:
  struct Series;
  std::unique_ptr<Series> series_;
};

}  // namespace snug::obs
