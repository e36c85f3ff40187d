#include "snug/codec/admin_cluster_codec.hpp"

#include <nlohmann/json.hpp>

namespace snug::codec {
namespace {

using ClusterJson = nlohmann::ordered_json;

std::string cluster_reply(const ClusterJson& json) {
  return json.dump(-1, ' ', false, ClusterJson::error_handler_t::replace);
}

ClusterJson largest_free_share_json(const usage::ClusterUsage& usage) {
  if (!usage.largest_free_share) return nullptr;
  const usage::FreeShare& share = *usage.largest_free_share;
  return {{"computeMilli", share.compute.value},
          {"memoryMiB", share.memory.value},
          {"node", share.node},
          {"gpu", share.gpu}};
}

ClusterJson models_json(const usage::ClusterUsage& usage) {
  ClusterJson rows = ClusterJson::array();
  for (const usage::ModelUsage& model : usage.models) {
    rows.push_back({{"model", model.model},
                    {"gpus", model.gpus},
                    {"memoryMiB", model.memory.value},
                    {"usedMemoryMiB", model.memory_held.value},
                    {"usedComputeMilli", model.compute_held.value},
                    {"freeWholeGpus", model.free_whole_gpus}});
  }
  return rows;
}

ClusterJson namespaces_json(const usage::ClusterUsage& usage) {
  ClusterJson rows = ClusterJson::array();
  for (const usage::NamespaceTotals& totals : usage.namespaces) {
    rows.push_back({{"namespace", totals.name_space},
                    {"pods", totals.pods},
                    {"memoryMiB", totals.memory.value},
                    {"computeMilli", totals.compute.value},
                    {"capMilli", totals.cap ? ClusterJson(totals.cap->value) : nullptr}});
  }
  return rows;
}

ClusterJson pending_json(const usage::ClusterUsage& usage) {
  ClusterJson rows = ClusterJson::array();
  for (const usage::PendingTotals& totals : usage.pending) {
    const model::ReasonRow& reason = model::reason_row(totals.reason);
    rows.push_back({{"code", reason.code}, {"sentence", reason.sentence}, {"pods", totals.pods}});
  }
  return rows;
}

}  // namespace

std::string write_cluster(const usage::ClusterUsage& usage, const PolicySummary& policy) {
  return cluster_reply(
      {{"generation", usage.generation.value},
       {"nodes", usage.nodes},
       {"gpus", usage.gpus},
       {"gpusClosed", usage.all_closed_gpus()},
       {"memoryMiB", usage.memory.value},
       {"usedMemoryMiB", usage.memory_held.value},
       {"computeMilli", usage.compute().value},
       {"usedComputeMilli", usage.compute_held.value},
       {"freeWholeGpus", usage.free_whole_gpus},
       {"largestFreeShare", largest_free_share_json(usage)},
       {"fragmentedMilli", usage.fragmented.value},
       {"freeMilli", usage.free.value},
       {"models", models_json(usage)},
       {"namespaces", namespaces_json(usage)},
       {"pending", pending_json(usage)},
       {"policy", {{"generation", policy.generation}, {"default", policy.default_profile}}}});
}

std::string write_history(std::chrono::milliseconds interval,
                          std::span<const usage::UsagePoint> points) {
  ClusterJson rows = ClusterJson::array();
  for (const usage::UsagePoint& point : points) {
    rows.push_back({{"time", point.time.time_since_epoch().count()},
                    {"gpus", point.gpus},
                    {"usedComputeMilli", point.compute_held.value},
                    {"computeMilli", point.compute.value},
                    {"usedMemoryMiB", point.memory_held.value},
                    {"memoryMiB", point.memory.value},
                    {"fragmentedMilli", point.fragmented.value},
                    {"pendingPods", point.pending_pods}});
  }
  return cluster_reply(
      {{"intervalSeconds", std::chrono::duration_cast<std::chrono::seconds>(interval).count()},
       {"points", std::move(rows)}});
}

std::string write_policy(std::uint64_t generation, std::string_view source, std::string_view yaml) {
  return cluster_reply({{"generation", generation}, {"source", source}, {"yaml", yaml}});
}

}  // namespace snug::codec
