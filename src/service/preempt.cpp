// preempt: chooses the pods to evict on each node that kube-scheduler proposes. Reserves nothing
// and does no I/O. The answer leaves out nodes on which eviction does not help; it may be empty.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/decision_line.hpp"
#include "service/named_victims.hpp"
#include "service/readers.hpp"
#include "snug/base/limits.hpp"
#include "snug/plan/choose_victims.hpp"
#include "snug/service/extender_service.hpp"

namespace snug::service {
namespace {

/// The pods whose binds have an unknown outcome. kube-scheduler regards these binds as failed, and
/// rejects an answer that names such a pod as a victim.
std::vector<ledger::LedgerEntry> unsettled_pods(const ledger::Ledger& ledger) {
  std::vector<ledger::LedgerEntry> unsettled = ledger.unconfirmed();
  std::erase_if(unsettled, [](const ledger::LedgerEntry& entry) {
    return entry.state != ledger::HoldingState::kUnsettled;
  });
  return unsettled;
}

plan::Preemptor preemptor_of(const PodClaim& claim) {
  return {.incoming = claim.view(),
          .has_other_constraints = claim.pod().facts.has_other_constraints};
}

plan::NodeContext context_of(const model::Snapshot& snapshot, std::uint32_t node_slot) {
  return {.namespace_usage = snapshot.namespace_usage,
          .nominations = snapshot.nominations_on(node_slot),
          .demand = *snapshot.demand};
}

/// The victims that were named for the preemptor and are still on the node, if they suffice;
/// otherwise empty. kube-scheduler may try the preemptor again while it still evicts them, and
/// propose others, which it would evict too.
std::vector<std::string_view> sufficient_named_victims(const plan::Preemptor& preemptor,
                                                       const std::vector<std::string>& named,
                                                       plan::EvictionCandidate candidate,
                                                       fit::FitMemo& memo) {
  // kube-scheduler may have proposed its victims for a reason that Snug does not know.
  if (preemptor.has_other_constraints) return {};
  std::vector<std::string_view> still_there;
  for (const model::HoldingPtr& holding : candidate.node.holdings) {
    if (std::ranges::find(named, holding->uid) != named.end()) still_there.push_back(holding->uid);
  }
  candidate.proposed_victims = still_there;
  if (still_there.empty() || !plan::fits_after_evictions(preemptor, candidate, memo)) return {};
  return still_there;
}

std::vector<codec::NodeVictims> choose_on_each(const codec::PreemptCall& call,
                                               const PodClaim& claim,
                                               const model::Snapshot& snapshot,
                                               std::span<const std::string_view> protected_uids,
                                               const NamedVictims::UidsByNode& named_victims) {
  const plan::Preemptor preemptor = preemptor_of(claim);
  fit::FitMemo fit_memo(preemptor.incoming.request);
  std::vector<codec::NodeVictims> victims_by_node;
  for (const codec::NodeVictims& candidate : call.candidates) {
    // A timely answer about some nodes is better than a late answer about all.
    if (fit_memo.work() > base::kMaxEvictionWorkPerCall) break;
    const auto node_slot = snapshot.names->find(candidate.node);
    if (!node_slot) continue;
    plan::EvictionCandidate there{.node = *snapshot.nodes[node_slot->value],
                                  .context = context_of(snapshot, node_slot->value),
                                  .proposed_victims = candidate.uids,
                                  .protected_uids = protected_uids};
    std::vector<std::string_view> named_again;
    if (const auto named = named_victims.find(candidate.node); named != named_victims.end()) {
      named_again = sufficient_named_victims(preemptor, named->second, there, fit_memo);
      if (!named_again.empty()) there.proposed_victims = named_again;
    }
    victims_by_node.push_back({.node = candidate.node,
                               .uids = plan::choose_victims(preemptor, there, fit_memo),
                               .pdb_violations = candidate.pdb_violations});
  }
  return victims_by_node;
}

/// Whether victims that preempt has named for the pod are being evicted on the node to which it is
/// nominated, and suffice. kube-scheduler may already see that they are gone, so that only filter
/// refused the node; it then asks about other nodes. When Snug sees it too, the pod is woken.
bool awaits_evictions(const codec::PreemptCall& call, const PodClaim& claim,
                      const model::Snapshot& snapshot,
                      const NamedVictims::UidsByNode& named_victims) {
  const std::string& nominated_node = claim.pod().facts.nominated_node_name;
  const auto node_slot =
      nominated_node.empty() ? std::nullopt : snapshot.names->find(nominated_node);
  if (!node_slot) return false;
  const auto candidate =
      std::ranges::find(call.candidates, nominated_node, &codec::NodeVictims::node);
  // kube-scheduler itself finds that pods must go there.
  if (candidate != call.candidates.end() && !candidate->uids.empty()) return false;
  const auto named = named_victims.find(nominated_node);
  if (named == named_victims.end()) return false;
  const std::vector<std::string_view> victims(named->second.begin(), named->second.end());
  const plan::Preemptor preemptor = preemptor_of(claim);
  fit::FitMemo fit_memo(preemptor.incoming.request);
  return plan::fits_after_evictions(preemptor,
                                    {.node = *snapshot.nodes[node_slot->value],
                                     .context = context_of(snapshot, node_slot->value),
                                     .proposed_victims = victims,
                                     .protected_uids = {}},
                                    fit_memo);
}

}  // namespace

Reply ExtenderService::run_preempt(std::string& body, DecisionLine& line) {
  Readers::Lent reader(*readers_);
  base::Result<codec::PreemptCall> call = reader->read_preempt(body);
  if (!call) {
    return {status_of(call.error()),
            codec::write_error(codec::ReplyShape::kPreempt, call.error().message)};
  }
  Reply no_victims{200, codec::write_preempt({})};
  const PodInfoPtr pod = parts_.pending.intern(std::move(call->pod));
  line.about(pod->facts);
  if (!pod->request) return no_victims;
  if (pod->request->empty()) return {200, codec::write_preempt(call->candidates)};
  // No pod is evicted for a preemptor that already holds GPUs from an earlier bind.
  if (!options_.serves(pod->facts.scheduler_name) || parts_.ledger.find(pod->facts.uid))
    return no_victims;
  const auto claim = PodClaim::make(pod, parts_.policy.current());
  if (!claim) return no_victims;
  // The snapshot must be taken before the list of unsettled pods. So if a pod of the snapshot
  // becomes unsettled in between, the list has it too.
  const model::SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::vector<ledger::LedgerEntry> unsettled = unsettled_pods(parts_.ledger);
  std::vector<std::string_view> protected_uids;
  protected_uids.reserve(unsettled.size());
  for (const ledger::LedgerEntry& unsettled_entry : unsettled)
    protected_uids.push_back(unsettled_entry.holding->uid);
  std::ranges::sort(protected_uids);
  const NamedVictims::UidsByNode named_victims = named_victims_->find(pod->facts.uid);
  if (awaits_evictions(*call, *claim, *snapshot, named_victims)) return no_victims;
  const std::vector<codec::NodeVictims> answer =
      choose_on_each(*call, *claim, *snapshot, protected_uids, named_victims);
  named_victims_->note(pod->facts.uid, answer);
  if (answer.size() == 1) line.decided({}, answer.front().node);
  return {200, codec::write_preempt(answer)};
}

}  // namespace snug::service
