// preempt: chooses the pods to evict on each node that kube-scheduler proposes. Reserves nothing
// and does no I/O. The answer leaves out nodes on which eviction does not help; it may be empty.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "service/readers.hpp"
#include "snug/base/limits.hpp"
#include "snug/plan/choose_victims.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {
namespace {

/// The pods whose binds have an unknown outcome. kube-scheduler regards these binds as failed, and
/// rejects an answer that names such a pod as a victim.
std::vector<ledger::LedgerEntry> unsettled_pods(const ledger::Ledger& ledger) {
  std::vector<ledger::LedgerEntry> entries = ledger.unconfirmed();
  std::erase_if(entries, [](const ledger::LedgerEntry& entry) {
    return entry.state != ledger::HoldingState::kUnsettled;
  });
  return entries;
}

std::vector<codec::NodeVictims> choose_on_each(const codec::PreemptCall& call,
                                               const PodClaim& claim,
                                               const model::Snapshot& snapshot,
                                               std::span<const std::string_view> spared) {
  const plan::Preemptor preemptor{.incoming = claim.view(),
                                  .has_other_constraints = claim.pod().facts.has_other_constraints};
  fit::FitMemo memo(preemptor.incoming.request);
  std::vector<codec::NodeVictims> answer;
  for (const codec::NodeVictims& offer : call.candidates) {
    // A timely answer about some nodes is better than a late answer about all.
    if (memo.work() > base::kMaxEvictionWorkPerCall) break;
    const auto found = snapshot.names->find(offer.node);
    if (!found) continue;
    const auto nominations = snapshot.nominations.find(found->value);
    const model::Nominations* nominated =
        nominations == snapshot.nominations.end() ? nullptr : &nominations->second;
    answer.push_back(
        {.node = offer.node,
         .uids = plan::choose_victims(preemptor,
                                      {.node = *snapshot.nodes[found->value],
                                       .context = {.namespace_usage = snapshot.namespace_usage,
                                                   .nominations = nominated,
                                                   .demand = *snapshot.demand},
                                       .proposed_victims = offer.uids,
                                       .protected_uids = spared},
                                      memo),
         .pdb_violations = offer.pdb_violations});
  }
  return answer;
}

}  // namespace

Reply ExtenderService::run_preempt(std::string& body) {
  Readers::Lent reader(*readers_);
  base::Result<codec::PreemptCall> call = reader->read_preempt(body);
  if (!call) {
    return {status_of(call.error()),
            codec::write_error(codec::ReplyShape::kPreempt, call.error().message)};
  }
  Reply nobody{200, codec::write_preempt({})};
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  if (!pod->request) return nobody;
  if (pod->request->empty()) return {200, codec::write_preempt(call->candidates)};
  // No pod is evicted for a preemptor that already holds GPUs from an earlier bind.
  if (!serves(pod->facts) || parts_.ledger.find(pod->facts.uid)) return nobody;
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return nobody;
  // The snapshot must be taken before the list of unsettled pods. So if a pod of the snapshot
  // becomes unsettled in between, the list has it too.
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::vector<ledger::LedgerEntry> unsettled = unsettled_pods(parts_.ledger);
  std::vector<std::string_view> spared;
  spared.reserve(unsettled.size());
  for (const ledger::LedgerEntry& entry : unsettled) spared.push_back(entry.holding->uid);
  std::ranges::sort(spared);
  return {200, codec::write_preempt(choose_on_each(*call, *claim, *snapshot, spared))};
}

}  // namespace snug::service
