#include "sim_codec/simulation_warnings.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "snug/base/text.hpp"
#include "snug/model/model_patterns.hpp"
#include "snug/sim_codec/trace_codec.hpp"

namespace snug::sim_codec {
namespace {

constexpr std::size_t kNamedObjects = 3;

void count_cards_without_table(const sim::ClusterNode& node, CountedSentences& sentences) {
  for (const model::GpuInfo& gpu : node.inventory.gpus) {
    if (!gpu.mig_enabled || gpu.mig_table) continue;
    sentences.count("node", node.inventory.name,
                    "with the model " + base::in_quotes(gpu.model) +
                        " in MIG mode: Snug has no MIG table for this model, and the inventory "
                        "states none (migProfiles), so its GPUs take no pods");
    return;
  }
}

std::string list_of(const std::vector<std::string>& names, std::string_view separator) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : separator).append(name);
  return list;
}

}  // namespace

void CountedSentences::count(std::string_view noun, std::string_view object,
                             std::string_view about) {
  Row& row = rows_[{std::string(noun), std::string(about)}];
  if (++row.count <= kNamedObjects) row.names.append(row.names.empty() ? "" : ", ").append(object);
}

std::vector<std::string> CountedSentences::sentences() const {
  std::vector<std::pair<std::size_t, std::string>> counted;
  counted.reserve(rows_.size());
  for (const auto& [key, row] : rows_) {
    counted.emplace_back(row.count, std::to_string(row.count) + " " + key.first +
                                        (row.count == 1 ? " " : "s ") + key.second + " (" +
                                        row.names + (row.count > kNamedObjects ? ", …)" : ")"));
  }
  std::ranges::sort(counted, [](const auto& a, const auto& b) {
    return std::tie(b.first, a.second) < std::tie(a.first, b.second);
  });
  std::vector<std::string> sentences;
  sentences.reserve(counted.size());
  for (auto& [count, sentence] : counted) sentences.push_back(std::move(sentence));
  return sentences;
}

void count_unknown_models(const sim::Cluster& cluster, CountedSentences& sentences) {
  std::set<std::string> models;
  for (const sim::ClusterNode& node : cluster.nodes) {
    count_cards_without_table(node, sentences);
    for (const model::GpuInfo& gpu : node.inventory.gpus) models.insert(gpu.model);
  }
  for (const sim::ClusterPod& pod : cluster.pods) {
    if (!pod.info->request) continue;
    for (const model::ContainerRequest& container : pod.info->request->containers) {
      if (container.models.empty() || std::ranges::any_of(models, [&](const std::string& model) {
            return container.models.allows(model);
          })) {
        continue;
      }
      std::string filter = list_of(container.models.included, ",");
      for (const std::string& model : container.models.excluded)
        filter.append(filter.empty() ? "!" : ",!").append(model);
      sentences.count(
          "pod", pod.info->full_name(),
          "with gpu-model " + base::in_quotes(filter) + ", which no GPU of the cluster matches");
      break;
    }
  }
}

std::vector<std::string> trace_warnings(const sim::Trace& trace) {
  std::set<std::string> models;
  for (const sim::TraceNode& node : trace.nodes) models.insert(node.model);
  std::set<std::size_t> arriving;
  for (const sim::Arrival& arrival : trace.arrivals) arriving.insert(arrival.pod);
  CountedSentences sentences;
  for (const std::size_t position : arriving) {
    const sim::TracePod& pod = trace.pods[position];
    const auto has_node = [&](const std::string& model) { return models.contains(model); };
    if (pod.models.empty() || std::ranges::any_of(pod.models, has_node)) continue;
    sentences.count("pod", pod.name,
                    "with gpu_spec " + base::in_quotes(list_of(pod.models, "|")) +
                        ", a model that no node has");
  }
  return sentences.sentences();
}

}  // namespace snug::sim_codec
