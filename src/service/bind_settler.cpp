#include "service/bind_settler.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace snug::service {

using std::chrono::milliseconds;

void BindSettler::settle() {
  const base::TimePoint start = parts_.clock.now();
  for (const ledger::LedgerEntry& entry : in_turn(parts_.ledger.unconfirmed())) {
    const bool bound = entry.state == ledger::HoldingState::kBound;
    const bool watch_may_show_it = start - entry.since < milliseconds(limits_.resync_ms);
    if (bound && watch_may_show_it) continue;
    asked_last_ = entry.holding->uid;
    if (!settle_one(entry)) return;
    if (parts_.clock.now() - start >= milliseconds(limits_.settle_interval_ms)) return;
  }
}

/// Each round starts after the pod where the last one ended, so that a pod for which the API server
/// never answers does not keep the others waiting.
std::vector<ledger::LedgerEntry> BindSettler::in_turn(
    std::vector<ledger::LedgerEntry> entries) const {
  const auto uid = [](const ledger::LedgerEntry& entry) -> const std::string& {
    return entry.holding->uid;
  };
  std::ranges::sort(entries, {}, uid);
  std::ranges::rotate(entries, std::ranges::upper_bound(entries, asked_last_, {}, uid));
  return entries;
}

/// False: the API server cannot be reached, so asking about other pods is useless.
bool BindSettler::settle_one(const ledger::LedgerEntry& entry) {
  const model::Holding& held = *entry.holding;
  const base::TimePoint asked_at = parts_.clock.now();
  auto fetched = parts_.api.get_pod(held.name_space, held.pod);
  if (!fetched) {
    const base::ErrorCode code = fetched.error().code;
    return code != base::ErrorCode::kUnavailable && code != base::ErrorCode::kUnknown;
  }
  std::optional<model::PodFacts>& found = *fetched;
  if (!found || found->uid != held.uid || found->finished) {
    if (!parts_.ledger.end_pod_from_get(held.uid, entry.sequence)) return true;
    parts_.pending.remove(held.uid);
    parts_.demand.pod_left(held.uid);
  } else if (!found->node_name.empty()) {
    parts_.pending.remove(held.uid);
    parts_.bound_pods.apply(PodInfo(*std::move(found)), BoundPods::ShownBy::kGet);
  } else if (asked_at - entry.since >= milliseconds(limits_.bind_settle_ms)) {
    // No binding of ours can still be under way at the API server, which says that the pod is
    // unbound.
    parts_.ledger.release_unsettled(held.uid, entry.sequence);
  }
  return true;
}

}  // namespace snug::service
