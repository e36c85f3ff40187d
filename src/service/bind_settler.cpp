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
    last_read_uid_ = entry.holding->uid;
    if (!settle_one(entry)) return;
    if (parts_.clock.now() - start >= milliseconds(limits_.settle_interval_ms)) return;
  }
}

/// Sorts the entries by uid, but begins with the entry after the one that was read last. So a pod
/// for which the API server never answers does not delay the others forever.
std::vector<ledger::LedgerEntry> BindSettler::in_turn(
    std::vector<ledger::LedgerEntry> entries) const {
  const auto uid = [](const ledger::LedgerEntry& entry) -> const std::string& {
    return entry.holding->uid;
  };
  std::ranges::sort(entries, {}, uid);
  std::ranges::rotate(entries, std::ranges::upper_bound(entries, last_read_uid_, {}, uid));
  return entries;
}

/// Reads the pod of one entry from the API server, and updates the ledger. Returns false if the API
/// server cannot be reached, since reading other pods would fail too.
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
    // The pod is unbound, and the API server can no longer execute a binding of Snug.
    parts_.ledger.release_unsettled(held.uid, entry.sequence);
  }
  return true;
}

}  // namespace snug::service
