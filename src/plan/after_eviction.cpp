#include "plan/after_eviction.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "snug/fit/fit.hpp"
#include "snug/fit/usage.hpp"
#include "snug/plan/choice.hpp"
#include "snug/plan/host_room.hpp"
#include "snug/plan/plan.hpp"

namespace snug {
AfterEviction::AfterEviction(const Preemptor& preemptor, const NodeState& node,
                             const Around& around, FitMemo& memo)
    : preemptor_(preemptor), node_(node), around_(around), memo_(memo), began_(memo.work()) {
  for (std::size_t i = 0; i < node.holdings.size(); ++i) {
    if (has_gpus(i)) gpu_pods_.push_back(i);
  }
}

bool AfterEviction::gpus_fit(const PodSet& gone) {
  PodSet key(gpu_pods_.size());
  for (std::size_t i = 0; i < gpu_pods_.size(); ++i) key[i] = gone[gpu_pods_[i]];
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  if (memo_.work() - began_ > most_work_) {
    ran_out_ = true;
    return false;
  }
  return known_.emplace(std::move(key), try_without(gone)).first->second;
}

bool AfterEviction::try_without(const PodSet& gone) {
  std::vector<HoldingPtr> left;
  left.reserve(gpu_pods_.size());
  for (const std::size_t pod : gpu_pods_) {
    if (!gone[pod]) left.push_back(node_.holdings[pod]);
  }
  const NodeStatePtr state = with_holdings(node_, std::move(left));
  const NamespaceUse held = held_without(gone);
  const Claim& claim = preemptor_.claim;
  return keeps_for_others()
             ? reason_on(*state, held) == ReasonCode::kNone
             : can_fit(*state, tenant_of(claim.name_space, claim.sharing, held), memo_);
}

ReasonCode AfterEviction::reason_on(const NodeState& state, const NamespaceUse& held) {
  const Claim& claim = preemptor_.claim;
  if (keeps_for_others()) {
    return choose_with(memo_, state, claim,
                       {.held = held, .nominations = around_.nominations, .demand = around_.demand})
        .reason;
  }
  PlacementList options;
  return fit(state, tenant_of(claim.name_space, claim.sharing, held), memo_, options);
}

/// The use of namespaces without these pods, for their caps.
NamespaceUse AfterEviction::held_without(const PodSet& gone) const {
  NamespaceUse held = around_.held;
  for (const std::size_t pod : gpu_pods_) {
    if (!gone[pod]) continue;
    const Holding& holding = *node_.holdings[pod];
    held.add(holding.name_space, -compute_held(holding, node_.inventory.get()));
  }
  return held;
}

bool AfterEviction::host_fits(const PodSet& gone) const {
  const HostCapacity& all = node_.inventory->host;
  if (!all.known) return true;
  HostAmounts used = node_.unlisted_host_used;
  for (std::size_t i = 0; i < gone.size(); ++i) {
    if (!gone[i]) used += node_.holdings[i]->host;
  }
  const std::int64_t pods = node_.pods - std::ranges::count(gone, true);
  return host_has_room(all, used, pods, preemptor_.claim.host);
}

}  // namespace snug
