#include "snug/adapters/obs/mps_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace snug::obs {

struct PrometheusMpsMetrics::Series {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Gauge>& daemons =
      prometheus::BuildGauge()
          .Name("snug_mps_daemons")
          .Help("MPS daemons that are wanted or still run, by phase")
          .Register(registry);
  std::map<mps::DaemonPhase, prometheus::Gauge*> phases;
  prometheus::Counter& starts = prometheus::BuildCounter()
                                    .Name("snug_mps_starts_total")
                                    .Help("Starts of MPS daemons")
                                    .Register(registry)
                                    .Add({});
  prometheus::Counter& failures =
      prometheus::BuildCounter()
          .Name("snug_mps_failures_total")
          .Help(
              "MPS daemons that could not be started, ended unasked, no longer "
              "answered, or were blocked by an error of a client")
          .Register(registry)
          .Add({});
};

PrometheusMpsMetrics::PrometheusMpsMetrics(const std::string& version)
    : series_(std::make_unique<Series>()) {
  prometheus::BuildGauge()
      .Name("snug_mps_build_info")
      .Help("Always 1; the label has the version of snug-mps")
      .Register(series_->registry)
      .Add({{"version", version}})
      .Set(1);
  for (const mps::DaemonPhase phase : mps::kDaemonPhaseNames.values()) {
    series_->phases[phase] =
        &series_->daemons.Add({{"phase", std::string(mps::kDaemonPhaseNames[phase])}});
  }
}

PrometheusMpsMetrics::~PrometheusMpsMetrics() = default;

void PrometheusMpsMetrics::daemons(const std::map<mps::DaemonPhase, std::int64_t>& numbers) {
  for (const auto& [phase, gauge] : series_->phases) {
    const auto found = numbers.find(phase);
    gauge->Set(found == numbers.end() ? 0 : static_cast<double>(found->second));
  }
}

void PrometheusMpsMetrics::daemon_started() { series_->starts.Increment(); }
void PrometheusMpsMetrics::daemon_failed() { series_->failures.Increment(); }

std::string PrometheusMpsMetrics::exposition() const {
  const prometheus::Serializer& serializer = prometheus::TextSerializer{};
  return serializer.Serialize(series_->registry.Collect());
}

}  // namespace snug::obs
