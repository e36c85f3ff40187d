#include "snug/usage/cluster_usage.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "snug/fit/tenant.hpp"
#include "snug/score/fragmentation.hpp"
#include "snug/usage/node_room.hpp"

namespace snug::usage {
namespace {

std::int64_t fragmentation_of(const model::NodeState& node, const model::Demand& demand) {
  if (demand.typical_pods.empty()) return 0;
  // What the kubelet has assigned is not free, but fragmentation() cannot know on which GPUs it is.
  return std::min(score::fragmentation(score::fragmentation_view(node), demand.typical_pods),
                  node.free_milli * model::kFixedPointOne);
}

class UsageSums {
 public:
  explicit UsageSums(const UsageInput& input) : input_(input) {
    usage_.generation = input.snapshot.generation;
  }

  void add(const model::NodeState& node) {
    ++usage_.nodes;
    if (node.conflict != model::NodeConflict::kNone) ++usage_.nodes_in_conflict;
    usage_.compute_held.value += node.kubelet_milli;
    usage_.free.value += node.free_milli;
    fragmented_ += fragmentation_of(node, *input_.snapshot.demand);
    const std::vector<bool> whole = free_whole_gpus(node);
    const std::vector<base::MilliGpu> kubelet = kubelet_compute(node);
    for (std::size_t i = 0; i < node.gpus.size(); ++i) {
      add_gpu(node.gpus[i], kubelet[i], whole[i]);
      if (auto part = free_part(node, i); part && (!largest_ || part->is_better_than(*largest_)))
        largest_ = std::move(part);
    }
    for (const model::HoldingPtr& holding : node.holdings) add_holding(*holding, *node.inventory);
  }

  ClusterUsage finish() && {
    usage_.fragmented.value = (fragmented_ + model::kFixedPointOne / 2) >> model::kFixedPointBits;
    if (largest_) usage_.largest_free_share = std::move(largest_->share);
    for (auto& [name, model] : models_) usage_.models.push_back(std::move(model));
    for (auto& [name, totals] : namespaces_) {
      totals.compute = input_.snapshot.namespace_usage.of(name);
      totals.cap = input_.sharing.rule_for(name).cap;
      usage_.namespaces.push_back(std::move(totals));
    }
    add_pending();
    return std::move(usage_);
  }

 private:
  void add_gpu(const model::GpuState& gpu, base::MilliGpu kubelet, bool is_free_whole) {
    ++usage_.gpus;
    usage_.memory += gpu.memory;
    usage_.memory_held += gpu.used_memory;
    usage_.compute_held += gpu.used_compute;
    usage_.free_whole_gpus += is_free_whole ? 1 : 0;
    if (gpu.closure != model::GpuClosure::kOpen) ++usage_.closed_gpus[gpu.closure];
    auto model = models_.find(gpu.info->model);
    if (model == models_.end()) {
      model = models_.emplace(gpu.info->model, ModelUsage{.model = gpu.info->model}).first;
    }
    ModelUsage& sums = model->second;
    ++sums.gpus;
    sums.memory += gpu.memory;
    sums.memory_held += gpu.used_memory;
    sums.compute_held += gpu.used_compute + kubelet;
    sums.free_whole_gpus += is_free_whole ? 1 : 0;
  }

  void add_holding(const model::Holding& holding, const model::NodeInventory& inventory) {
    if (holding.reservation.containers.empty()) return;
    auto totals = namespaces_.find(holding.name_space);
    if (totals == namespaces_.end()) {
      totals =
          namespaces_.emplace(holding.name_space, NamespaceTotals{.name_space = holding.name_space})
              .first;
    }
    ++totals->second.pods;
    totals->second.memory += fit::held_charge(holding, &inventory).memory;
  }

  void add_pending() {
    std::map<model::ReasonCode, std::int64_t> pods_by_reason;
    for (const model::ReasonCode reason : input_.pending) ++pods_by_reason[reason];
    for (const auto& [reason, pods] : pods_by_reason) usage_.pending.push_back({reason, pods});
    std::ranges::sort(usage_.pending, [](const PendingTotals& a, const PendingTotals& b) {
      if (a.pods != b.pods) return a.pods > b.pods;
      return model::reason_row(a.reason).code < model::reason_row(b.reason).code;
    });
  }

  const UsageInput& input_;
  ClusterUsage usage_;
  std::int64_t fragmented_ = 0;  // fixed point
  std::optional<FreePart> largest_;
  std::map<std::string, ModelUsage, std::less<>> models_;
  std::map<std::string, NamespaceTotals, std::less<>> namespaces_;
};

}  // namespace

std::int64_t ClusterUsage::all_closed_gpus() const {
  std::int64_t sum = 0;
  for (const auto& [reason, count] : closed_gpus) sum += count;
  return sum;
}

std::int64_t ClusterUsage::all_pending_pods() const {
  std::int64_t sum = 0;
  for (const PendingTotals& totals : pending) sum += totals.pods;
  return sum;
}

ClusterUsage cluster_usage(const UsageInput& input) {
  UsageSums sums(input);
  for (std::size_t slot = 0; slot < input.snapshot.nodes.size(); ++slot) {
    if (const model::NodeStatePtr& node = input.snapshot.nodes[slot]) sums.add(*node);
  }
  return std::move(sums).finish();
}

UsagePoint usage_point(const ClusterUsage& usage, std::chrono::sys_seconds time) {
  return {.time = time,
          .gpus = usage.gpus,
          .compute_held = usage.compute_held,
          .compute = usage.compute(),
          .memory_held = usage.memory_held,
          .memory = usage.memory,
          .fragmented = usage.fragmented,
          .pending_pods = usage.all_pending_pods()};
}

}  // namespace snug::usage
