#include "snug/sim_codec/trace_codec.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "sim_codec/csv.hpp"
#include "snug/base/text.hpp"
#include "snug/base/units.hpp"
#include "snug/sim_codec/mig_picture.hpp"

namespace snug {
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

/// Other names would mean something in the annotation `gpu-model`.
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
    "a GPU model has 1 to 63 letters, digits, - _ . + / ( ) and blanks between them";

TraceNode read_node(CsvTable& table, const Limits& limits) {
  using namespace node_column;
  TraceNode node{.name = table.name(kName),
                 .cpu_milli = table.number(kCpu, kLargestQuantity),
                 .memory_mib = table.number(kMemory, kLargestQuantity),
                 .gpus = static_cast<int>(table.number(kGpus, limits.max_gpus_per_node))};
  if (node.gpus > 0) {
    node.model = table.name(kModel);
    if (!is_model_name(node.model)) {
      table.complain("model is " + in_quotes(node.model) + "; " + std::string(kModelRule));
    }
  } else if (!table.field(kModel).empty()) {
    table.complain("model must be empty where gpu is 0, not " + in_quotes(table.field(kModel)));
  }
  const std::string_view mig = table.field(kMig);
  if (!mig.empty() && mig != "0" && mig != "1") {
    table.complain("mig must be 0, 1 or empty, not " + in_quotes(mig));
  } else if (mig == "1" && node.gpus > 0) {
    const Result<const MigCard*> card = one_mig_card(node.model);
    if (card) node.mig_card = *card;
    if (!card) table.complain("mig is 1, and " + card.error().message);
  }
  return node;
}

std::vector<std::string> read_models(CsvTable& table) {
  std::vector<std::string> models;
  std::string_view rest = table.field(pod_column::kModels);
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    models.emplace_back(rest.substr(0, bar));
    const bool last = bar == std::string_view::npos;
    if (models.back().empty() || (!last && bar + 1 == rest.size())) {
      table.complain("gpu_spec must be empty or models with | between them, not " +
                     in_quotes(table.field(pod_column::kModels)));
    }
    if (!models.back().empty() && !is_model_name(models.back())) {
      table.complain("gpu_spec names " + in_quotes(models.back()) + "; " + std::string(kModelRule));
    }
    rest = last ? std::string_view() : rest.substr(bar + 1);
  }
  return models;
}

TracePod read_pod(CsvTable& table, const Limits& limits) {
  using namespace pod_column;
  TracePod pod{.name = table.name(kName),
               .cpu_milli = table.number(kCpu, kLargestQuantity),
               .memory_mib = table.number(kMemory, kLargestQuantity),
               .gpus = static_cast<int>(table.number(kGpus, limits.max_gpus_per_node)),
               .gpu_milli = static_cast<int>(table.number(kMilli, kWholeGpu.value)),
               .models = read_models(table)};
  const std::string milli = ", not " + std::to_string(pod.gpu_milli);
  if (pod.gpus == 0 && pod.gpu_milli != 0) {
    table.complain("gpu_milli must be 0 where num_gpu is 0" + milli);
  } else if (pod.gpus == 1 && pod.gpu_milli == 0) {
    table.complain("gpu_milli must be 1 to 1000 where num_gpu is 1" + milli);
  } else if (pod.gpus > 1 && pod.gpu_milli != kWholeGpu.value) {
    table.complain("gpu_milli must be 1000 where num_gpu is more than 1" + milli);
  }
  return pod;
}

}  // namespace

Result<std::vector<TraceNode>> read_trace_nodes(const TraceFile& file, const Limits& limits) {
  CsvTable table(file.text, file.source, node_column::kAll);
  std::vector<TraceNode> nodes;
  std::map<std::string, std::int64_t, std::less<>> lines;
  while (table.next()) {
    TraceNode node = read_node(table, limits);
    const auto [first, added] = lines.emplace(node.name, table.line());
    if (!added) {
      table.complain("the node " + in_quotes(node.name) + " stands in line " +
                     std::to_string(first->second) + " too; each may stand in one line");
    }
    nodes.push_back(std::move(node));
    if (static_cast<std::int64_t>(nodes.size()) > limits.max_nodes) {
      table.complain("there are more than " + std::to_string(limits.max_nodes) +
                     " nodes, which is as many as may be");
    }
  }
  if (nodes.empty()) table.complain("there is no node; expected at least one row");
  if (const auto& problem = table.problem()) return std::unexpected(*problem);
  return nodes;
}

Result<std::vector<TracePod>> read_trace_pods(const TraceFile& file, const Limits& limits) {
  CsvTable table(file.text, file.source, pod_column::kAll);
  std::vector<TracePod> pods;
  while (table.next()) {
    pods.push_back(read_pod(table, limits));
    if (pods.size() > kMostTracePods) {
      table.complain("there are more than " + std::to_string(kMostTracePods) +
                     " pods, which is as many as may be");
    }
  }
  if (pods.empty()) table.complain("there is no pod; expected at least one row");
  if (const auto& problem = table.problem()) return std::unexpected(*problem);
  return pods;
}

}  // namespace snug
