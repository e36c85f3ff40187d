// Resolves binds with an unknown outcome by reading their pods from the API server. Also reads
// bound pods that neither a list nor the watch has shown within resync_ms. Used by one thread.
#pragma once

#include <string>
#include <vector>

#include "service/bound_pods.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/ledger/demand_tracker.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/service/pending_pods.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

struct BindSettlerParts {
  ledger::Ledger& ledger;
  PendingPods& pending;
  ledger::DemandTracker& demand;
  BoundPods& bound_pods;
  ApiPort& api;
  const base::Clock& clock;
};

class BindSettler {
 public:
  BindSettler(BindSettlerParts parts, const base::Limits& limits)
      : parts_(parts), limits_(limits) {}

  /// Reads pods one by one, until settle_interval_ms have passed or the API server cannot be
  /// reached.
  void settle();

 private:
  [[nodiscard]] std::vector<ledger::LedgerEntry> in_settle_order(
      std::vector<ledger::LedgerEntry> unconfirmed) const;
  [[nodiscard]] bool settle_one(const ledger::LedgerEntry& entry);

  BindSettlerParts parts_;
  const base::Limits limits_;
  std::string last_read_uid_;  // the uid of the pod that was read last
};

}  // namespace snug::service
