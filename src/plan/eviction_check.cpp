#include "plan/eviction_check.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "snug/fit/fit.hpp"
#include "snug/fit/node_usage.hpp"
#include "snug/plan/node_resources_fit.hpp"
#include "snug/plan/nomination_guard.hpp"
#include "snug/plan/placement_finder.hpp"
#include "snug/plan/plan.hpp"

namespace snug::plan {
EvictionCheck::EvictionCheck(const Preemptor& preemptor, const model::NodeState& node,
                             const NodeContext& context, fit::FitMemo& memo)
    : preemptor_(preemptor),
      node_(node),
      context_(context),
      memo_(memo),
      work_at_start_(memo.work()),
      namespace_usage_(context.namespace_usage),
      host_used_(node.unlisted_host_used),
      mirrored_used_(node.unlisted_mirrored_used),
      pods_(node.pod_count) {
  for (std::size_t i = 0; i < node.holdings.size(); ++i) {
    if (has_gpus(i)) gpu_pods_.push_back(i);
  }
  if (!has_nominations()) return;
  start_nominated();
  count_nominated_on_host();
}

void EvictionCheck::start_nominated() {
  const NominationGuard guard(node_, preemptor_.incoming, context_);
  memo_.count_calls(guard.work());
  started_ = guard.startable_holdings();
  for (const model::HoldingPtr& started : started_) {
    namespace_usage_.add(started->name_space, fit::held_compute(*started, node_.inventory.get()));
  }
  std::ranges::copy_if(*context_.nominations, std::back_inserter(waiting_), [&](const auto& pod) {
    return std::ranges::none_of(started_,
                                [&](const auto& started) { return started->uid == pod->rank.uid; });
  });
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
  std::vector<model::HoldingPtr> remaining_pods = started_;
  remaining_pods.reserve(started_.size() + gpu_pods_.size());
  for (const std::size_t pod : gpu_pods_) {
    if (!evicted[pod]) remaining_pods.push_back(node_.holdings[pod]);
  }
  const model::NodeStatePtr state = fit::with_holdings(node_, std::move(remaining_pods));
  const model::NamespaceUsage namespace_usage = usage_without(evicted);
  const IncomingPod& incoming = preemptor_.incoming;
  return !waiting_.empty()
             ? reason_on(*state, namespace_usage, &waiting_) == model::ReasonCode::kNone
             : fit::can_fit(*state,
                            fit::tenant_of(incoming.name_space, incoming.sharing, namespace_usage),
                            memo_);
}

model::ReasonCode EvictionCheck::reason_on(const model::NodeState& state,
                                           const model::NamespaceUsage& namespace_usage,
                                           const model::Nominations* nominations) {
  const IncomingPod& incoming = preemptor_.incoming;
  if (nominations != nullptr && !nominations->empty()) {
    return choose_placement_with(memo_, state, incoming,
                                 {.namespace_usage = namespace_usage,
                                  .nominations = nominations,
                                  .demand = context_.demand})
        .reason;
  }
  model::PlacementList options;
  return fit::fit(state, fit::tenant_of(incoming.name_space, incoming.sharing, namespace_usage),
                  memo_, options);
}

/// The usage of all namespaces, for their caps, after the pods in `evicted` have been evicted.
model::NamespaceUsage EvictionCheck::usage_without(const PodSet& evicted) const {
  model::NamespaceUsage namespace_usage = namespace_usage_;
  for (const std::size_t pod : gpu_pods_) {
    if (!evicted[pod]) continue;
    const model::Holding& holding = *node_.holdings[pod];
    namespace_usage.add(holding.name_space, -fit::held_compute(holding, node_.inventory.get()));
  }
  return namespace_usage;
}

void EvictionCheck::count_nominated_on_host() {
  const model::PodRank& rank = preemptor_.incoming.rank;
  for (const model::NominationPtr& nomination : *context_.nominations) {
    if (nomination->rank.uid == rank.uid || nomination->rank.priority < rank.priority) continue;
    host_used_ += nomination->host;
    mirrored_used_ += nomination->mirrored;
    ++pods_;
  }
}

bool EvictionCheck::host_fits(const PodSet& evicted) const {
  const model::HostAllocatable& allocatable = node_.inventory->host;
  if (!allocatable.known) return true;
  model::HostResources used = host_used_;
  model::MirroredAmounts mirrored_used = mirrored_used_;
  for (std::size_t i = 0; i < evicted.size(); ++i) {
    if (evicted[i]) continue;
    used += node_.holdings[i]->host;
    mirrored_used += node_.holdings[i]->mirrored;
  }
  if (!mirrored_amounts_fit(node_.inventory->mirrored.allocatable, mirrored_used,
                            preemptor_.incoming.mirrored)) {
    return false;
  }
  const std::int64_t pods = pods_ - std::ranges::count(evicted, true);
  return node_resources_fit(allocatable, used, pods, preemptor_.incoming.host);
}

}  // namespace snug::plan
