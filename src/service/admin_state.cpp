#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "service/layout_changes.hpp"
#include "snug/codec/admin_state_codec.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::service {
namespace {

codec::PodRow held_row(const ledger::LedgerEntry& entry) {
  const model::Holding& held = *entry.holding;
  const bool is_bound = entry.state == ledger::HoldingState::kBound;
  // A pod whose bind is unsettled is shown as reserved, because its devices are still reserved.
  std::string_view state = ledger::kHoldingStateNames[is_bound ? ledger::HoldingState::kBound
                                                               : ledger::HoldingState::kReserved];
  if (held.terminating) state = "terminating";
  return {.name_space = held.name_space,
          .pod = held.pod,
          .uid = held.uid,
          .node = held.reservation.node,
          .state = state,
          .reason = held.unplaced ? "bound without a reservation: it was given no device" : "",
          .request_text = held.request_text,
          .holding = held.reservation_written ? entry.holding : nullptr};
}

/// The reason why Snug last refused the pod. If Snug has not refused it, the pod may be waiting for
/// a change of a node's MIG layout, during which kube-scheduler does not call Snug for this pod.
std::string reason_of(const PendingRow& pending, const model::GpuRequest& request,
                      const LayoutChanges& layouts) {
  if (!pending.reason.empty() || layouts.awaited_by(request).empty()) return pending.reason;
  return model::message(model::ReasonCode::kReconfiguring);
}

/// The row of a pending pod in the answer to GET /v1/pods; nullopt: the pod asks for no GPU.
std::optional<codec::PodRow> pending_row(const PendingRow& pending, const LayoutChanges& layouts) {
  const model::PodFacts& pod = pending.pod->facts;
  const auto& request = pending.pod->request;
  if (request && request->empty()) return std::nullopt;
  return codec::PodRow{
      .name_space = pod.name_space,
      .pod = pod.name,
      .uid = pod.uid,
      .node = "",
      .state = "pending",
      .reason = request ? reason_of(pending, *request, layouts) : model::message(request.error()),
      .request_text = request ? model::to_text(*request) : "",
      .holding = nullptr};
}

}  // namespace

Reply AdminService::nodes(std::optional<std::string_view> name) {
  std::optional<std::string> body = codec::write_nodes(*parts_.ledger.snapshot(), name);
  if (body) return {200, *std::move(body)};
  return {404, R"({"Error":"Snug knows no node of this name"})"};
}

Reply AdminService::pods() {
  ledger::Ledger& ledger = parts_.ledger;
  const model::SnapshotPtr snapshot = ledger.snapshot();
  const LayoutChanges layouts(*snapshot);
  std::vector<codec::PodRow> rows;
  for (const ledger::LedgerEntry& entry : ledger.gpu_entries()) rows.push_back(held_row(entry));
  for (const PendingRow& row : parts_.pending.rows()) {
    if (ledger.find(row.pod->facts.uid)) continue;
    if (auto shown = pending_row(row, layouts)) rows.push_back(*std::move(shown));
  }
  std::sort(rows.begin(), rows.end(), [](const codec::PodRow& a, const codec::PodRow& b) {
    return std::tie(a.name_space, a.pod, a.uid) < std::tie(b.name_space, b.pod, b.uid);
  });
  return {200, codec::write_pods(snapshot->generation, rows)};
}

}  // namespace snug::service
