#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include "sim_codec/text_table.hpp"

namespace snug::sim_codec {
namespace {

/// How many of the refused pods of a policy the table names.
constexpr std::size_t kNamedPods = 20;

using Outcomes = std::vector<sim::PodOutcome>;

const sim::ClusterResult& result_of(const sim::SimulationReport& report) {
  static const sim::ClusterResult nothing;
  return report.cluster ? *report.cluster : nothing;
}

std::string counted_pods(std::int64_t pods) {
  return std::to_string(pods) + (pods == 1 ? " pod" : " pods");
}

std::int64_t placed_now(const Outcomes& pods) {
  return std::ranges::count_if(pods, [](const auto& pod) { return !pod.node_now.empty(); });
}

/// Returns the difference to the present, like ` (+3)`.
std::string with_change(std::int64_t now, std::int64_t then) {
  if (now == then) return std::to_string(then);
  return std::to_string(then) + (then > now ? " (+" : " (") + std::to_string(then - now) + ")";
}

/// Returns the part of the GPUs that is reserved, like `81.3 %`.
std::string reserved_part(const sim::GpuCounts& counts) {
  if (counts.gpus == 0) return "-";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%",
                static_cast<double>(counts.reserved_milli) / static_cast<double>(counts.gpus) / 10);
  return text.data();
}

std::vector<std::vector<std::string>> count_rows(std::span<const sim::SimulationReport> reports) {
  const sim::ClusterResult& first = result_of(reports.front());
  std::vector<std::vector<std::string>> rows{{"", "now"}};
  for (const sim::SimulationReport& report : reports) rows.front().push_back(report.policy);
  const auto add = [&](std::string name, std::int64_t now, const auto& then) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {std::move(name), std::to_string(now)};
    for (const sim::SimulationReport& report : reports)
      row.push_back(with_change(now, then(report)));
  };
  add("pods placed", placed_now(first.pods), [](const auto& report) { return report.accepted; });
  const auto add_gpus = [&](std::string name, std::int64_t sim::GpuCounts::* count) {
    add(std::move(name), first.now.*count,
        [count](const auto& report) { return result_of(report).simulated.*count; });
  };
  std::vector<std::string>& reserved = rows.emplace_back();
  reserved = {"reserved of all GPUs", reserved_part(first.now)};
  for (const sim::SimulationReport& report : reports)
    reserved.push_back(reserved_part(result_of(report).simulated));
  add_gpus("GPUs in use", &sim::GpuCounts::in_use);
  add_gpus("GPUs free", &sim::GpuCounts::free);
  add_gpus("most GPUs free on one node", &sim::GpuCounts::most_free_on_a_node);
  if (first.now.free_mig > 0 || first.simulated.free_mig > 0)
    add_gpus("GPUs in MIG mode free", &sim::GpuCounts::free_mig);
  if (first.now.closed > 0) add_gpus("GPUs closed", &sim::GpuCounts::closed);
  return rows;
}

std::string refused_pods(const sim::SimulationReport& report) {
  std::map<std::string, Outcomes> by_reason;
  for (const sim::PodOutcome& pod : result_of(report).pods) {
    if (!pod.refusal_code.empty()) by_reason[pod.refusal_code + ": " + pod.refusal].push_back(pod);
  }
  if (by_reason.empty()) return "";
  const std::int64_t refused = report.arrivals - report.accepted;
  std::string text = "\n" + report.policy + " refuses " + counted_pods(refused) + ":\n";
  for (const auto& [reason, pods] : by_reason) {
    text += "  " + reason + " (" + counted_pods(std::ssize(pods)) + ")\n";
    for (const sim::PodOutcome& pod : std::span(pods).first(std::min(pods.size(), kNamedPods))) {
      text += "    " + pod.name_space + "/" + pod.pod +
              (pod.request.empty() ? "" : "  " + pod.request) + "\n";
    }
    if (pods.size() > kNamedPods) {
      text +=
          "    and " + std::to_string(pods.size() - kNamedPods) + " more; --json names them all\n";
    }
  }
  return text;
}

}  // namespace

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    text += '\n';
  }
  return text;
}

std::string cluster_table(std::span<const sim::SimulationReport> reports) {
  const sim::SimulationReport& first = reports.front();
  std::string text = std::to_string(first.nodes) + (first.nodes == 1 ? " node, " : " nodes, ") +
                     std::to_string(first.gpus) + (first.gpus == 1 ? " GPU, " : " GPUs, ") +
                     counted_pods(first.arrivals) + " that ask for GPUs\n\n" +
                     text_table(count_rows(reports));
  for (const sim::SimulationReport& report : reports) text += refused_pods(report);
  return text;
}

}  // namespace snug::sim_codec
