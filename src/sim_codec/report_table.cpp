#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sim_codec/text_table.hpp"
#include "snug/sim_codec/report_codec.hpp"

namespace snug::sim_codec {
namespace {

using Reports = std::span<const sim::SimulationReport>;
using Cell = std::function<std::string(const sim::SimulationReport&)>;

struct Row {
  std::string_view name;
  Cell cell;
};

std::string with_unit(std::optional<double> value, int decimals, const char* unit) {
  if (!value || !std::isfinite(*value)) return "-";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f %s", decimals, *value, unit);
  return text.data();
}

std::string percent(std::optional<double> value) { return with_unit(value, 2, "%"); }

Cell rejected(std::int64_t sim::RejectedPods::* kind) {
  return
      [kind](const sim::SimulationReport& report) { return std::to_string(report.rejected.*kind); };
}

Cell at(sim::AtDemand sim::SimulationReport::* measure,
        std::optional<double> sim::AtDemand::* demand) {
  return [measure, demand](const sim::SimulationReport& report) {
    return percent(report.*measure.*demand);
  };
}

/// Returns the cell for a percentage of ChurnReport. The cell is `-` if the report has no
/// ChurnReport because no pod leaves.
template <typename Field>
Cell churn(Field field) {
  return [field](const sim::SimulationReport& report) {
    return report.churn ? percent((*report.churn).*field) : "-";
  };
}

/// Returns the cell for a percentage of MigReport. The cell is `-` if the report has no MigReport
/// because no pod requests a MIG profile.
template <typename Field>
Cell mig(Field field) {
  return [field](const sim::SimulationReport& report) {
    return report.mig ? percent((*report.mig).*field) : "-";
  };
}

std::vector<Row> rows_for(Reports reports) {
  std::vector<Row> rows{
      {"accepted", [](const auto& report) { return std::to_string(report.accepted); }},
      {"rejected, no GPU", rejected(&sim::RejectedPods::cpu)},
      {"rejected, share", rejected(&sim::RejectedPods::share)},
      {"rejected, one GPU", rejected(&sim::RejectedPods::one)},
      {"rejected, several GPUs", rejected(&sim::RejectedPods::multi)}};
  const bool churns =
      std::ranges::any_of(reports, [](const auto& report) { return report.churn.has_value(); });
  const auto add = [&](std::string_view name, Cell cell) {
    rows.push_back({name, std::move(cell)});
  };
  if (std::ranges::any_of(reports, [](const auto& report) { return report.mig.has_value(); })) {
    add(churns ? "later half: mean memory slices in use" : "memory slices in use",
        mig(&sim::MigReport::memory_slices_pct));
    add(churns ? "later half: MIG pods rejected" : "MIG pods rejected",
        mig(&sim::MigReport::rejected_pct));
    add(churns ? "later half: MIG pods of 4 slices or more rejected"
               : "MIG pods of 4 slices or more rejected",
        mig(&sim::MigReport::rejected_4_slices_or_more_pct));
  }
  if (!churns) {
    add("allocation at 100 % demand",
        at(&sim::SimulationReport::allocation, &sim::AtDemand::at100));
    add("allocation at 130 % demand",
        at(&sim::SimulationReport::allocation, &sim::AtDemand::at130));
  }
  add("allocation at the end", [](const auto& report) { return percent(report.final_allocation); });
  if (churns) {
    add("later half: mean allocation", churn(&sim::ChurnReport::allocation_mean));
    add("later half: GPU demand accepted", churn(&sim::ChurnReport::gpu_accepted_pct));
    add("later half: pods rejected", churn(&sim::ChurnReport::rejected_pct));
    add("later half: pods of several GPUs rejected", churn(&sim::ChurnReport::multi_rejected_pct));
  } else {
    add("fragmentation at 100 % demand",
        at(&sim::SimulationReport::fragmentation, &sim::AtDemand::at100));
    add("fragmentation at 130 % demand",
        at(&sim::SimulationReport::fragmentation, &sim::AtDemand::at130));
  }
  add("decision p50",
      [](const auto& report) { return with_unit(report.decision_us_p50, 1, "us"); });
  add("decision p99",
      [](const auto& report) { return with_unit(report.decision_us_p99, 1, "us"); });
  add("wall", [](const auto& report) { return with_unit(report.wall_s, 2, "s"); });
  return rows;
}

std::string count(std::int64_t number, std::string_view noun) {
  return std::to_string(number).append(noun).append(number == 1 ? "" : "s");
}

}  // namespace

std::string report_table(Reports reports) {
  if (reports.empty()) return "";
  const sim::SimulationReport& first = reports.front();
  if (first.cluster) return cluster_table(reports);
  std::string table = count(first.nodes, " node") + ", " + count(first.gpus, " GPU") + ", " +
                      count(first.arrivals, " arrival");
  if (first.seed) table += ", seed " + std::to_string(*first.seed);
  table += "\n\n";

  std::vector<Row> rows = rows_for(reports);
  rows.insert(rows.begin(), {"", [](const auto& report) { return report.policy; }});
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    std::vector<std::string>& texts = cells.emplace_back();
    texts.emplace_back(row.name);
    for (const sim::SimulationReport& report : reports) texts.push_back(row.cell(report));
  }
  return table + text_table(cells);
}

}  // namespace snug::sim_codec
