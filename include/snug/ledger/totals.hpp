// Sums over all nodes and holdings of a ledger, for the gauges among the metrics. A call takes time
// in proportion to the number of GPUs and holdings.
#pragma once

#include <cstdint>
#include <map>

#include "snug/base/units.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::ledger {

struct LedgerTotals {
  std::int64_t nodes = 0;
  std::int64_t nodes_in_conflict = 0;
  std::int64_t gpus = 0;
  std::map<model::GpuClosure, std::int64_t> gpus_closed;  // the number of closed GPUs, by reason
  std::map<HoldingState, std::int64_t> holdings;          // the number of gpu_entries(), by state
  base::MebiBytes memory_capacity;                        // the sum over all GPUs
  base::MebiBytes memory_used;
};

/// Reads the nodes and then the holdings. A bind between the two reads is counted in the holdings
/// only.
[[nodiscard]] LedgerTotals totals_of(Ledger& ledger);

}  // namespace snug::ledger
