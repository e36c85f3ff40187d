#include "growth.hpp"

#include "row.hpp"

namespace snug_bench {
namespace {

constexpr double kMaxMicroseconds = 20;
/// The part of the trace's lifetimes that lets 50,000 arrivals fill and churn sixteen times its
/// nodes.
constexpr double kOfLifetime = 0.3;

snug::sim::Trace times_over(const snug::sim::Trace& trace, std::size_t times) {
  snug::sim::Trace more = trace;
  for (std::size_t i = 1; i < times; ++i) {
    for (snug::sim::TraceNode node : trace.nodes) {
      node.name += "-" + std::to_string(i);
      more.nodes.push_back(std::move(node));
    }
  }
  for (snug::sim::Arrival& arrival : more.arrivals) {
    if (arrival.lifetime) *arrival.lifetime *= kOfLifetime * static_cast<double>(times);
  }
  return more;
}

}  // namespace

std::vector<GrowthRow> grow(const Contender& who, const OpenbRun& one) {
  std::vector<GrowthRow> rows;
  for (const std::size_t times : {1, 4, 16}) {
    rows.push_back({times, run(who, times_over(one.trace, times), one.seed)});
  }
  return rows;
}

std::string table(const std::vector<GrowthRow>& rows) {
  std::string text =
      "| nodes | GPUs | a decision, median | ratio to the first row |\n|---|---|---|---|\n";
  for (const GrowthRow& row : rows) {
    text += row_of("| %lld | %lld | %.1f µs | %.1f |\n", static_cast<long long>(row.report.nodes),
                   static_cast<long long>(row.report.gpus), row.report.decision_us_p50,
                   row.report.decision_us_p50 / rows.front().report.decision_us_p50);
  }
  return text;
}

std::vector<std::string> findings(const std::vector<GrowthRow>& rows) {
  std::vector<std::string> found;
  const double first = rows.front().report.decision_us_p50;
  if (first > kMaxMicroseconds) {
    found.push_back(row_of("a decision takes %.1f us at the median, must be 20 at most", first));
  }
  for (const GrowthRow& row : rows) {
    if (row.report.decision_us_p50 <= first * static_cast<double>(row.times)) continue;
    found.push_back(row_of("at %zu times the nodes a decision takes %.1f times as long", row.times,
                           row.report.decision_us_p50 / first));
  }
  return found;
}

}  // namespace snug_bench
