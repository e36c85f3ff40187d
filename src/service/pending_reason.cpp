#include "service/pending_reason.hpp"

#include <string_view>

namespace snug::service {

std::vector<PendingRow> pods_waiting_for_gpu(const PendingPods& pending,
                                             const ledger::Ledger& ledger) {
  std::vector<PendingRow> rows = pending.rows();
  std::erase_if(rows, [](const PendingRow& row) {
    const auto& request = row.pod->request;
    return request && request->empty();
  });
  std::vector<std::string_view> uids;
  uids.reserve(rows.size());
  for (const PendingRow& row : rows) uids.push_back(row.pod->facts.uid);
  // Views of texts of `rows`, which may be the last owners of their pods.
  const auto with_entry = ledger.with_entry(uids);
  std::vector<PendingRow> waiting;
  waiting.reserve(rows.size());
  for (const PendingRow& row : rows) {
    if (!with_entry.contains(row.pod->facts.uid)) waiting.push_back(row);
  }
  return waiting;
}

model::Refusal pending_reason(const PendingRow& pending_pod, const LayoutChanges& layout_changes) {
  const auto& request = pending_pod.pod->request;
  if (!request) return request.error();
  if (pending_pod.refusal.code != model::ReasonCode::kNone ||
      layout_changes.awaited_by(*request).empty()) {
    return pending_pod.refusal;
  }
  return {model::ReasonCode::kReconfiguring, {}};
}

}  // namespace snug::service
