// preempt: whom to evict on each of the nodes that kube-scheduler offers. Reserves nothing, does no
// I/O. A node where eviction cannot help is left out of the answer; that is no error.
#include "snug/plan/preempt.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "service/readers.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {
namespace {

/// Pods whose binds ended with an unknown outcome. kube-scheduler regards those binds as failed,
/// and an answer that names such a pod as a victim as an error.
std::vector<LedgerEntry> unsettled_pods(const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.unconfirmed();
  std::erase_if(entries,
                [](const LedgerEntry& entry) { return entry.state != HoldingState::kUnsettled; });
  return entries;
}

std::vector<NodeVictims> choose_on_each(const PreemptCall& call, const PodClaim& claim,
                                        const Snapshot& snapshot,
                                        std::span<const std::string_view> spared) {
  const Preemptor preemptor{.claim = claim.view(),
                            .other_constraints = claim.pod().facts.other_constraints};
  FitMemo memo(preemptor.claim.request);
  std::vector<NodeVictims> answer;
  for (const NodeVictims& offer : call.offers) {
    // An answer in time about some nodes is better than a late one about all.
    if (memo.work() > kMostEvictionWorkOfCall) break;
    const auto found = snapshot.names->find(offer.node);
    if (!found) continue;
    const auto nominations = snapshot.nominations.find(found->value);
    const Nominations* nominated =
        nominations == snapshot.nominations.end() ? nullptr : &nominations->second;
    answer.push_back({.node = offer.node,
                      .uids = choose_victims(preemptor,
                                             {.node = *snapshot.nodes[found->value],
                                              .around = {.held = snapshot.held,
                                                         .nominations = nominated,
                                                         .demand = *snapshot.demand},
                                              .chosen = offer.uids,
                                              .spared = spared},
                                             memo),
                      .pdb_violations = offer.pdb_violations});
  }
  return answer;
}

}  // namespace

Reply ExtenderService::run_preempt(std::string& body) {
  Readers::Lent reader(*readers_);
  Result<PreemptCall> call = reader->read_preempt(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kPreempt, call.error().message)};
  }
  Reply nobody{200, write_preempt({})};
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  if (!pod->request) return nobody;
  if (pod->request->empty()) return {200, write_preempt(call->offers)};
  // A pod that holds its GPUs already, from an earlier bind, needs no eviction.
  if (!serves(pod->facts) || parts_.ledger.find(pod->facts.uid)) return nobody;
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return nobody;
  // Taken before the list of unsettled pods: a bind whose outcome becomes unknown in between is in
  // both.
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::vector<LedgerEntry> unsettled = unsettled_pods(parts_.ledger);
  std::vector<std::string_view> spared;
  spared.reserve(unsettled.size());
  for (const LedgerEntry& entry : unsettled) spared.push_back(entry.holding->uid);
  std::ranges::sort(spared);
  return {200, write_preempt(choose_on_each(*call, *claim, *snapshot, spared))};
}

}  // namespace snug
