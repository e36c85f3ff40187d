#include "snug/ledger/totals.hpp"

namespace snug {

LedgerTotals totals_of(Ledger& ledger) {
  LedgerTotals totals;
  const SnapshotPtr snapshot = ledger.snapshot();
  for (std::size_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const NodeStatePtr& node = snapshot->nodes[slot];
    if (node == nullptr) continue;
    ++totals.nodes;
    if (node->conflict != NodeConflict::kNone) ++totals.nodes_in_conflict;
    for (const GpuState& gpu : node->gpus) {
      ++totals.gpus;
      totals.memory_capacity += gpu.memory;
      totals.memory_used += gpu.used_memory;
      if (gpu.closure != GpuClosure::kOpen) ++totals.gpus_closed[gpu.closure];
    }
  }
  for (const LedgerEntry& entry : ledger.entries()) ++totals.holdings[entry.state];
  return totals;
}

}  // namespace snug
