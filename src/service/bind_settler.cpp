#include "service/bind_settler.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace snug::service {

using std::chrono::milliseconds;

void BindSettler::settle() {
  const base::TimePoint settle_start = parts_.clock.now();
  for (const ledger::LedgerEntry& entry : in_settle_order(parts_.ledger.unconfirmed())) {
    const bool is_bound = entry.state == ledger::HoldingState::kBound;
    const bool watch_may_show_it = settle_start - entry.since < milliseconds(limits_.resync_ms);
    if (is_bound && watch_may_show_it) continue;
    last_read_uid_ = entry.holding->uid;
    if (!settle_one(entry)) return;
    if (parts_.clock.now() - settle_start >= milliseconds(limits_.settle_interval_ms)) return;
  }
}

/// Sorts the entries by uid, but begins with the entry after the one that was read last. So a pod
/// for which the API server never answers does not delay the others forever.
std::vector<ledger::LedgerEntry> BindSettler::in_settle_order(
    std::vector<ledger::LedgerEntry> unconfirmed) const {
  const auto uid_of = [](const ledger::LedgerEntry& entry) -> const std::string& {
    return entry.holding->uid;
  };
  std::ranges::sort(unconfirmed, {}, uid_of);
  std::ranges::rotate(unconfirmed,
                      std::ranges::upper_bound(unconfirmed, last_read_uid_, {}, uid_of));
  return unconfirmed;
}

/// Reads the pod of one entry from the API server, and updates the ledger. Returns false if the API
/// server cannot be reached, since reading other pods would fail too.
bool BindSettler::settle_one(const ledger::LedgerEntry& entry) {
  const model::Holding& holding = *entry.holding;
  const base::TimePoint asked_at = parts_.clock.now();
  auto fetched_pod = parts_.api.get_pod(holding.name_space, holding.pod);
  if (!fetched_pod) {
    const base::ErrorCode error_code = fetched_pod.error().code;
    return error_code != base::ErrorCode::kUnavailable && error_code != base::ErrorCode::kUnknown;
  }
  std::optional<model::PodFacts>& found = *fetched_pod;
  if (!found || found->uid != holding.uid || found->finished) {
    if (!parts_.ledger.end_pod_from_get(holding.uid, entry.sequence)) return true;
    parts_.pending.remove(holding.uid);
    parts_.demand.pod_left(holding.uid);
  } else if (!found->node_name.empty()) {
    parts_.pending.remove(holding.uid);
    parts_.bound_pods.apply(PodInfo(*std::move(found)), BoundPods::ShownBy::kGet);
  } else if (asked_at - entry.since >= milliseconds(limits_.bind_settle_ms)) {
    // The pod is unbound, and the API server can no longer execute a binding of Snug.
    parts_.ledger.release_unsettled(holding.uid, entry.sequence);
  }
  return true;
}

}  // namespace snug::service
