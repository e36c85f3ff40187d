#include "plan/eviction_check.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/placement_finder.hpp"
#include "snug/plan/plan.hpp"

namespace snug::plan {
EvictionCheck::EvictionCheck(const Preemptor& preemptor, const model::NodeState& node,
                             const NodeContext& context, fit::FitMemo& memo)
    : preemptor_(preemptor),
      node_(node),
      context_(context),
      memo_(memo),
      work_at_start_(memo.work()) {
  for (std::size_t i = 0; i < node.holdings.size(); ++i) {
    if (has_gpus(i)) gpu_pods_.push_back(i);
  }
}

bool EvictionCheck::gpus_fit(const PodSet& evicted) {
  PodSet key(gpu_pods_.size());
  for (std::size_t i = 0; i < gpu_pods_.size(); ++i) key[i] = evicted[gpu_pods_[i]];
  const auto cached_fit = fits_without_.find(key);
  if (cached_fit != fits_without_.end()) return cached_fit->second;
  if (memo_.work() - work_at_start_ > work_budget_) {
    budget_exhausted_ = true;
    return false;
  }
  return fits_without_.emplace(std::move(key), gpus_fit_without(evicted)).first->second;
}

bool EvictionCheck::gpus_fit_without(const PodSet& evicted) {
  std::vector<model::HoldingPtr> remaining_pods;
  remaining_pods.reserve(gpu_pods_.size());
  for (const std::size_t pod : gpu_pods_) {
    if (!evicted[pod]) remaining_pods.push_back(node_.holdings[pod]);
  }
  const model::NodeStatePtr state = fit::with_holdings(node_, std::move(remaining_pods));
  const model::NamespaceUsage namespace_usage = usage_without(evicted);
  const IncomingPod& incoming = preemptor_.incoming;
  return has_nominations()
             ? reason_on(*state, namespace_usage) == model::ReasonCode::kNone
             : fit::can_fit(*state,
                            fit::tenant_of(incoming.name_space, incoming.sharing, namespace_usage),
                            memo_);
}

model::ReasonCode EvictionCheck::reason_on(const model::NodeState& state,
                                           const model::NamespaceUsage& namespace_usage) {
  const IncomingPod& incoming = preemptor_.incoming;
  if (has_nominations()) {
    return choose_placement_with(memo_, state, incoming,
                                 {.namespace_usage = namespace_usage,
                                  .nominations = context_.nominations,
                                  .demand = context_.demand})
        .reason;
  }
  model::PlacementList options;
  return fit::fit(state, fit::tenant_of(incoming.name_space, incoming.sharing, namespace_usage),
                  memo_, options);
}

/// The usage of all namespaces, for their caps, after the pods in `evicted` have been evicted.
model::NamespaceUsage EvictionCheck::usage_without(const PodSet& evicted) const {
  model::NamespaceUsage namespace_usage = context_.namespace_usage;
  for (const std::size_t pod : gpu_pods_) {
    if (!evicted[pod]) continue;
    const model::Holding& holding = *node_.holdings[pod];
    namespace_usage.add(holding.name_space, -fit::held_compute(holding, node_.inventory.get()));
  }
  return namespace_usage;
}

bool EvictionCheck::host_fits(const PodSet& evicted) const {
  const model::HostAllocatable& allocatable = node_.inventory->host;
  if (!allocatable.known) return true;
  model::HostResources used = node_.unlisted_host_used;
  for (std::size_t i = 0; i < evicted.size(); ++i) {
    if (!evicted[i]) used += node_.holdings[i]->host;
  }
  const std::int64_t pods = node_.pod_count - std::ranges::count(evicted, true);
  return node_resources_fit(allocatable, used, pods, preemptor_.incoming.host);
}

}  // namespace snug::plan
