// Finds out how binds ended whose outcome is unknown, by reading their pods from the API server;
// reads bound pods too that the watch has not shown within resyncMs. Used by one thread.
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

  /// Asks about one pod after the other, for settleIntervalMs or until the API server fails.
  void settle();

 private:
  [[nodiscard]] std::vector<ledger::LedgerEntry> in_turn(
      std::vector<ledger::LedgerEntry> entries) const;
  [[nodiscard]] bool settle_one(const ledger::LedgerEntry& entry);

  BindSettlerParts parts_;
  const base::Limits limits_;
  std::string asked_last_;  // uid
};

}  // namespace snug::service
