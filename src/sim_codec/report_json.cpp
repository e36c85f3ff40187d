#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "snug/sim_codec/report_codec.hpp"

namespace snug::sim_codec {
namespace {

using Json = nlohmann::ordered_json;

/// Null for what is no number: a cluster without GPUs has no percentage of them.
Json rounded(std::optional<double> value, double parts) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return std::round(*value * parts) / parts;
}

Json percent(std::optional<double> value) { return rounded(value, 1e4); }
Json duration(double value) { return rounded(value, 1e3); }

Json churn_json(const std::optional<sim::ChurnReport>& churn) {
  if (!churn) return nullptr;
  return {{"allocation_mean", percent(churn->allocation_mean)},
          {"gpu_accepted_pct", percent(churn->gpu_accepted_pct)},
          {"rejected_pct", percent(churn->rejected_pct)},
          {"multi_rejected_pct", percent(churn->multi_rejected_pct)}};
}

Json mig_json(const std::optional<sim::MigReport>& mig) {
  if (!mig) return nullptr;
  return {{"memory_slices_pct", percent(mig->memory_slices_pct)},
          {"rejected_pct", percent(mig->rejected_pct)},
          {"rejected_4_slices_or_more_pct", percent(mig->rejected_4_slices_or_more_pct)}};
}

Json one_report(const sim::SimulationReport& report) {
  const sim::RejectedPods& rejected = report.rejected;
  return {{"policy", report.policy},
          {"seed", report.seed ? Json(*report.seed) : Json(nullptr)},
          {"nodes", report.nodes},
          {"gpus", report.gpus},
          {"arrivals", report.arrivals},
          {"accepted", report.accepted},
          {"rejected",
           {{"cpu", rejected.cpu},
            {"share", rejected.share},
            {"one", rejected.one},
            {"multi", rejected.multi}}},
          {"allocation",
           {{"at100", percent(report.allocation.at100)},
            {"at130", percent(report.allocation.at130)},
            {"final", percent(report.final_allocation)}}},
          {"fragmentation",
           {{"at100", percent(report.fragmentation.at100)},
            {"at130", percent(report.fragmentation.at130)}}},
          {"churn", churn_json(report.churn)},
          {"mig", mig_json(report.mig)},
          {"decision_us",
           {{"p50", duration(report.decision_us_p50)}, {"p99", duration(report.decision_us_p99)}}},
          {"wall_s", duration(report.wall_s)}};
}

}  // namespace

std::string report_json(std::span<const sim::SimulationReport> reports) {
  Json json = Json::array();
  for (const sim::SimulationReport& report : reports) json.push_back(one_report(report));
  const Json& written = reports.size() == 1 ? json.front() : json;
  return written.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace snug::sim_codec
