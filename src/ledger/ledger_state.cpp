#include "ledger/ledger_state.hpp"

#include "ledger/holding_comparison.hpp"

namespace snug::ledger {

void Ledger::State::expire_intents() {
  if (intents.expire(clock.now())) intent_ended();
}

bool Ledger::State::hold(const model::HoldingPtr& holding, Source shown) {
  const bool watched = shown != Source::kGet;
  const bool revived = ended_pods.contains(holding->uid);
  if (revived) {
    // Only the watch revives a pod here, and only if a list or watch event reported its end. A list
    // that started after the end has already removed the pod from ended_pods.
    if (shown != Source::kWatch || ended_pods.only_from_get(holding->uid)) return true;
    ended_pods.erase(holding->uid);
  }
  end_intent(holding->uid);
  end_nomination(holding->uid);
  LedgerEntry* entry = find(holding->uid);
  if (entry == nullptr) {
    entry = &insert(holding, HoldingState::kBound);
    entry->confirmed = watched;
    entry->reappeared_after_end = revived;
    update_sets(*entry);
    return true;
  }
  bool reservation_added = false;  // whether a reservation was added by hand; reported like an edit
  if (is_superseded_by(*entry->holding, *holding)) {
    const LedgerEntry before = *entry;
    reservation_added = holding->reservation_written;
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
    entry->confirmed = before.confirmed;
    entry->reappeared_after_end = before.reappeared_after_end;
  }
  const bool same = entry->holding->reservation == holding->reservation;
  const bool same_node = entry->holding->reservation.node == holding->reservation.node;
  const bool settled = entry->state == HoldingState::kBound && same_node;
  if (!same && !settled) {
    // The API server is the source of truth, and shows a binding that is not Snug's own.
    erase(holding->uid);
    entry = &insert(holding, HoldingState::kBound);
  } else if (!settled) {
    set_state(*entry, HoldingState::kBound);
  }
  refresh_pod_facts(*entry, *holding);
  entry->confirmed = entry->confirmed || watched;
  if (shown != Source::kWatch) entry->reappeared_after_end = false;
  if (!watched) entry->since = clock.now();
  update_sets(*entry);
  return (same && !reservation_added) || !settled;
}

/// Updates the facts of a holding other than its reservation.
void Ledger::State::refresh_pod_facts(LedgerEntry& entry, const model::Holding& shown) {
  if (same_except_reservation(*entry.holding, shown)) return;
  auto next = std::make_shared<model::Holding>(*entry.holding);
  next->host = shown.host;
  next->mirrored = shown.mirrored;
  next->terminating = shown.terminating;
  next->has_other_constraints = shown.has_other_constraints;
  next->rank = shown.rank;
  entry.holding = std::move(next);
  nodes.replace(entry.holding);
  changed();
}

/// Applies a list that was requested at `mark` and does not show this pod as bound. `is_living`:
/// whether the list shows the pod at all.
void Ledger::State::end_absent_pod(const std::string& uid, std::uint64_t mark, bool is_living) {
  const LedgerEntry& entry = entries.find(uid)->second;
  if (entry.sequence > mark) return;
  if (!is_living) {
    if (entry.state != HoldingState::kReserved) end_pod(uid, EndedPods::Source::kStream);
  } else if (entry.state == HoldingState::kBound) {
    erase(uid);
  }
}

/// Chooses the best placement on the node. Intents of other pods count as taken, but if the pod has
/// an intent on this node, only older ones do.
plan::NodeChoice Ledger::State::choose(base::NodeIndex node, const ReserveInput& input) {
  const model::Nominations nominated = nominations.on(input.node, has_no_entry());
  const model::Intents promised = intents.preceding(input.node, input.incoming.rank.uid);
  return plan::choose_placement(*nodes.state(node), input.incoming,
                                {.namespace_usage = nodes.namespace_usage(),
                                 .nominations = nominated.empty() ? nullptr : &nominated,
                                 .intents = promised.empty() ? nullptr : &promised,
                                 .demand = *demand});
}

std::optional<ReserveFailure> Ledger::State::existing_holding_failure(const ReserveInput& input) {
  using Cause = ReserveFailure::Cause;
  if (ended_pods.contains(input.incoming.rank.uid)) return ReserveFailure{.cause = Cause::kEnded};
  const LedgerEntry* entry = find(input.incoming.rank.uid);
  if (entry == nullptr) return std::nullopt;
  if (entry->holding->reservation.node != input.node) {
    return ReserveFailure{.cause = Cause::kElsewhere, .entry = *entry};
  }
  switch (entry->state) {
    case HoldingState::kBound:
      return ReserveFailure{.cause = Cause::kBound, .entry = *entry};
    case HoldingState::kReserved:
      return ReserveFailure{.cause = Cause::kInFlight, .entry = *entry};
    case HoldingState::kUnsettled:
      break;
  }
  return std::nullopt;
}

}  // namespace snug::ledger
