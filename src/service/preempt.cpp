// preempt: whom to evict on each of the nodes that kube-scheduler offers. Reserves nothing, does no
// I/O. What cannot be helped by eviction is no error: the node, or the whole answer, stays empty,
// and nobody dies.
#include "snug/plan/preempt.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "service/readers.hpp"
#include "snug/base/limits.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/extender_service.hpp"

namespace snug {
namespace {

/// Pods whose binds ended with an unknown outcome: kube-scheduler took those for failed, and takes
/// a victim that it does not know on the node for an error of the whole answer.
std::vector<LedgerEntry> unsettled_pods(const Ledger& ledger) {
  std::vector<LedgerEntry> entries = ledger.unconfirmed();
  std::erase_if(entries,
                [](const LedgerEntry& entry) { return entry.state != HoldingState::kUnsettled; });
  return entries;
}

std::vector<NodeVictims> choose_on_each(const PreemptCall& call, const PodClaim& claim,
                                        const Snapshot& snapshot,
                                        std::span<const std::string_view> spared) {
  const Preemptor preemptor{.claim = claim.view(), .other_constraints = call.pod.other_constraints};
  FitMemo memo(preemptor.claim.request);
  std::vector<NodeVictims> answer;
  for (const NodeVictims& offer : call.offers) {
    // An answer about some nodes in time is better than one about all too late.
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
  const Result<PreemptCall> call = reader->read_preempt(body);
  if (!call) {
    return {status_of(call.error()), write_error(ReplyShape::kPreempt, call.error().message)};
  }
  Reply nobody{200, write_preempt({})};
  const auto request = parse_request(call->pod);
  if (!request) return nobody;
  if (request->empty()) return {200, write_preempt(call->offers)};
  // What the pod holds from an earlier bind is its own, and no eviction makes it more.
  if (!serves(call->pod) || parts_.ledger.find(call->pod.uid)) return nobody;
  const auto claim = PodClaim::make(call->pod, *request, parts_.policy.current());
  if (!claim) return nobody;
  // Before the unsettled ones: a bind whose outcome becomes unknown in between is in both.
  const SnapshotPtr snapshot = parts_.ledger.snapshot();
  const std::vector<LedgerEntry> unsettled = unsettled_pods(parts_.ledger);
  std::vector<std::string_view> spared;
  spared.reserve(unsettled.size());
  for (const LedgerEntry& entry : unsettled) spared.push_back(entry.holding->uid);
  std::ranges::sort(spared);
  return {200, write_preempt(choose_on_each(*call, *claim, *snapshot, spared))};
}

}  // namespace snug
