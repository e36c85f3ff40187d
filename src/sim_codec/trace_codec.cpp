#include "snug/sim_codec/trace_codec.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "sim_codec/csv_table.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"
#include "snug/sim_codec/mig_card_text.hpp"

namespace snug::sim_codec {
namespace {

namespace node_column {
enum : std::size_t { kName, kCpu, kMemory, kGpus, kModel, kMig };
constexpr CsvColumn kAll[] = {{"sn"},  {"cpu_milli"}, {"memory_mib"},
                              {"gpu"}, {"model"},     {"mig", false}};
}  // namespace node_column

namespace pod_column {
enum : std::size_t { kName, kCpu, kMemory, kGpus, kMilli, kModels };
constexpr CsvColumn kAll[] = {{"name"},    {"cpu_milli"}, {"memory_mib"},
                              {"num_gpu"}, {"gpu_milli"}, {"gpu_spec", false}};
}  // namespace pod_column

/// Whether `text` can be the name of a GPU model in a trace. Excludes characters that have a
/// meaning in the annotation `gpu-model`.
bool is_model_name(std::string_view text) {
  constexpr std::size_t kMost = 63;
  constexpr std::string_view kMarks = "-_.+/() ";
  const bool blank_ends = text.starts_with(' ') || text.ends_with(' ');
  return !text.empty() && text.size() <= kMost && !blank_ends &&
         std::ranges::all_of(text, [&](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  kMarks.find(c) != std::string_view::npos;
         });
}

constexpr std::string_view kModelRule =
    "the name of a GPU model has 1 to 63 letters, digits, - _ . + / ( ) and blanks between them";

sim::TraceNode read_node(CsvTable& table, const base::Limits& limits) {
  using namespace node_column;
  sim::TraceNode node{.name = table.name(kName),
                      .cpu_milli = table.number(kCpu, base::kLargestQuantity),
                      .memory_mib = table.number(kMemory, base::kLargestQuantity),
                      .gpus = static_cast<int>(table.number(kGpus, limits.max_gpus_per_node))};
  if (node.gpus > 0) {
    node.model = table.name(kModel);
    if (!is_model_name(node.model)) {
      table.report_problem("model is " + base::in_quotes(node.model) + "; " +
                           std::string(kModelRule));
    }
  } else if (!table.field(kModel).empty()) {
    table.report_problem("model must be empty where gpu is 0, not " +
                         base::in_quotes(table.field(kModel)));
  }
  const std::string_view mig = table.field(kMig);
  if (!mig.empty() && mig != "0" && mig != "1") {
    table.report_problem("mig must be 0, 1 or empty, not " + base::in_quotes(mig));
  } else if (mig == "1" && node.gpus > 0) {
    const base::Result<const mig::MigCard*> card = find_one_mig_card(node.model);
    if (card) node.mig_card = *card;
    if (!card) table.report_problem("mig is 1, and " + card.error().message);
  }
  return node;
}

std::vector<std::string> read_models(CsvTable& table) {
  std::vector<std::string> models;
  std::string_view unread_models = table.field(pod_column::kModels);
  while (!unread_models.empty()) {
    const std::size_t bar = unread_models.find('|');
    models.emplace_back(unread_models.substr(0, bar));
    const bool last = bar == std::string_view::npos;
    if (models.back().empty() || (!last && bar + 1 == unread_models.size())) {
      table.report_problem("gpu_spec must be empty or models with | between them, not " +
                           base::in_quotes(table.field(pod_column::kModels)));
    }
    if (!models.back().empty() && !is_model_name(models.back())) {
      table.report_problem("gpu_spec names " + base::in_quotes(models.back()) + "; " +
                           std::string(kModelRule));
    }
    unread_models = last ? std::string_view() : unread_models.substr(bar + 1);
  }
  return models;
}

sim::TracePod read_pod(CsvTable& table, const base::Limits& limits) {
  using namespace pod_column;
  sim::TracePod pod{.name = table.name(kName),
                    .cpu_milli = table.number(kCpu, base::kLargestQuantity),
                    .memory_mib = table.number(kMemory, base::kLargestQuantity),
                    .gpus = static_cast<int>(table.number(kGpus, limits.max_gpus_per_node)),
                    .gpu_milli = static_cast<int>(table.number(kMilli, base::kWholeGpu.value)),
                    .models = read_models(table)};
  const std::string milli = ", not " + std::to_string(pod.gpu_milli);
  if (pod.gpus == 0 && pod.gpu_milli != 0) {
    table.report_problem("gpu_milli must be 0 where num_gpu is 0" + milli);
  } else if (pod.gpus == 1 && pod.gpu_milli == 0) {
    table.report_problem("gpu_milli must be 1 to 1000 where num_gpu is 1" + milli);
  } else if (pod.gpus > 1 && pod.gpu_milli != base::kWholeGpu.value) {
    table.report_problem("gpu_milli must be 1000 where num_gpu is more than 1" + milli);
  }
  return pod;
}

}  // namespace

base::Result<std::vector<sim::TraceNode>> read_trace_nodes(const TraceFile& file,
                                                           const base::Limits& limits) {
  CsvTable table(file.text, file.source, node_column::kAll);
  std::vector<sim::TraceNode> nodes;
  std::map<std::string, std::int64_t, std::less<>> lines;
  while (table.next()) {
    sim::TraceNode node = read_node(table, limits);
    const auto [first, is_new_node] = lines.emplace(node.name, table.line());
    if (!is_new_node) {
      table.report_problem("the node " + base::in_quotes(node.name) + " is in line " +
                           std::to_string(first->second) + " already; each node has one line");
    }
    nodes.push_back(std::move(node));
    if (static_cast<std::int64_t>(nodes.size()) > limits.max_nodes) {
      table.report_problem("there are more than " + std::to_string(limits.max_nodes) +
                           " nodes, the maximum");
    }
  }
  if (nodes.empty()) table.report_problem("there is no node; expected at least one row");
  if (const auto& problem = table.problem()) return std::unexpected(*problem);
  return nodes;
}

base::Result<std::vector<sim::TracePod>> read_trace_pods(const TraceFile& file,
                                                         const base::Limits& limits) {
  CsvTable table(file.text, file.source, pod_column::kAll);
  std::vector<sim::TracePod> pods;
  while (table.next()) {
    pods.push_back(read_pod(table, limits));
    if (pods.size() > base::kMaxTracePods) {
      table.report_problem("there are more than " + std::to_string(base::kMaxTracePods) +
                           " pods, the maximum");
    }
  }
  if (pods.empty()) table.report_problem("there is no pod; expected at least one row");
  if (const auto& problem = table.problem()) return std::unexpected(*problem);
  return pods;
}

}  // namespace snug::sim_codec
