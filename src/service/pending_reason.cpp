#include "service/pending_reason.hpp"

namespace snug::service {

bool waits_for_gpu(const PendingRow& pending_pod, const ledger::Ledger& ledger) {
  const auto& request = pending_pod.pod->request;
  if (request && request->empty()) return false;
  return !ledger.find(pending_pod.pod->facts.uid);
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
