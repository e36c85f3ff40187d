#include "snug/ledger/totals.hpp"

namespace snug::ledger {

LedgerTotals totals_of(Ledger& ledger) {
  LedgerTotals totals;
  const model::SnapshotPtr snapshot = ledger.snapshot();
  for (std::size_t slot = 0; slot < snapshot->nodes.size(); ++slot) {
    const model::NodeStatePtr& node = snapshot->nodes[slot];
    if (node == nullptr) continue;
    ++totals.nodes;
    if (node->conflict != model::NodeConflict::kNone) ++totals.nodes_in_conflict;
    for (const model::GpuState& gpu : node->gpus) {
      ++totals.gpus;
      totals.memory_capacity += gpu.memory;
      totals.memory_used += gpu.used_memory;
      if (gpu.closure != model::GpuClosure::kOpen) ++totals.gpus_closed[gpu.closure];
    }
  }
  for (const LedgerEntry& entry : ledger.gpu_entries()) ++totals.holdings[entry.state];
  return totals;
}

}  // namespace snug::ledger
