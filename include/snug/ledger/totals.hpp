// Sums over all nodes and holdings of a ledger, for gauges. A call takes time in proportion to the
// number of GPUs and holdings.
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
  std::map<model::GpuClosure, std::int64_t> gpus_closed;  // without kOpen
  std::map<HoldingState, std::int64_t> holdings;          // those with GPUs (Ledger::gpu_entries)
  base::MebiBytes memory_capacity;                        // of all GPUs
  base::MebiBytes memory_used;
};

/// Nodes and holdings are read one after the other, so a bind in between counts in only one of
/// them.
[[nodiscard]] LedgerTotals totals_of(Ledger& ledger);

}  // namespace snug::ledger
