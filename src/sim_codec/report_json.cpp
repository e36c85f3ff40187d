#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "snug/sim_codec/report_codec.hpp"

namespace snug::sim_codec {
namespace {

using Json = nlohmann::ordered_json;

/// Rounds the value to a multiple of 1/parts. Null if the value is absent or not finite, such as a
/// percentage of the GPUs of a cluster without GPUs.
Json rounded(std::optional<double> value, double parts) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return std::round(*value * parts) / parts;
}

Json percent_json(std::optional<double> value) { return rounded(value, 1e4); }
Json duration(double value) { return rounded(value, 1e3); }

Json churn_json(const std::optional<sim::ChurnReport>& churn) {
  if (!churn) return nullptr;
  return {{"allocation_mean", percent_json(churn->allocation_mean)},
          {"gpu_accepted_pct", percent_json(churn->gpu_accepted_pct)},
          {"rejected_pct", percent_json(churn->rejected_pct)},
          {"multi_rejected_pct", percent_json(churn->multi_rejected_pct)}};
}

Json mig_json(const std::optional<sim::MigReport>& mig) {
  if (!mig) return nullptr;
  return {{"memory_slices_pct", percent_json(mig->memory_slices_pct)},
          {"rejected_pct", percent_json(mig->rejected_pct)},
          {"rejected_4_slices_or_more_pct", percent_json(mig->rejected_4_slices_or_more_pct)}};
}

Json counts_json(const sim::GpuCounts& counts, std::int64_t pods) {
  return {{"pods", pods},
          {"gpus", counts.gpus},
          {"in_use", counts.in_use},
          {"free", counts.free},
          {"most_free_on_a_node", counts.most_free_on_a_node},
          {"free_mig", counts.free_mig},
          {"closed", counts.closed},
          {"reserved_milli", counts.reserved_milli}};
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json outcome_json(const sim::PodOutcome& pod) {
  Json reason = nullptr;
  if (!pod.refusal_code.empty()) reason = {{"code", pod.refusal_code}, {"sentence", pod.refusal}};
  return {{"namespace", pod.name_space},          {"pod", pod.pod},
          {"request", text_or_null(pod.request)}, {"node_now", text_or_null(pod.node_now)},
          {"node", text_or_null(pod.node)},       {"gpus", pod.gpus},
          {"refused", std::move(reason)}};
}

Json cluster_json(const sim::SimulationReport& report, const sim::ClusterResult& cluster) {
  const auto bound = std::ranges::count_if(
      cluster.pods, [](const sim::PodOutcome& pod) { return !pod.node_now.empty(); });
  Json pods = Json::array();
  for (const sim::PodOutcome& pod : cluster.pods) pods.push_back(outcome_json(pod));
  return {{"now", counts_json(cluster.now, bound)},
          {"simulated", counts_json(cluster.simulated, report.accepted)},
          {"pods", std::move(pods)}};
}

Json one_report(const sim::SimulationReport& report) {
  const sim::RejectedPods& rejected = report.rejected;
  Json json = {
      {"policy", report.policy},
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
       {{"at100", percent_json(report.allocation.at100)},
        {"at130", percent_json(report.allocation.at130)},
        {"final", percent_json(report.final_allocation)}}},
      {"fragmentation",
       {{"at100", percent_json(report.fragmentation.at100)},
        {"at130", percent_json(report.fragmentation.at130)}}},
      {"churn", churn_json(report.churn)},
      {"mig", mig_json(report.mig)},
      {"decision_us",
       {{"p50", duration(report.decision_us_p50)}, {"p99", duration(report.decision_us_p99)}}},
      {"wall_s", duration(report.wall_s)}};
  if (report.cluster) json["cluster"] = cluster_json(report, *report.cluster);
  return json;
}

}  // namespace

std::string report_json(std::span<const sim::SimulationReport> reports) {
  Json json = Json::array();
  for (const sim::SimulationReport& report : reports) json.push_back(one_report(report));
  const Json& written = reports.size() == 1 ? json.front() : json;
  return written.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace snug::sim_codec
