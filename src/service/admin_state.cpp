#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "service/layout_changes.hpp"
#include "snug/codec/state_codec.hpp"
#include "snug/service/admin_service.hpp"

namespace snug {
namespace {

PodRow held_row(const LedgerEntry& entry) {
  const Holding& held = *entry.holding;
  std::string_view state = entry.state == HoldingState::kBound ? "bound" : "reserved";
  if (held.terminating) state = "terminating";
  return {.name_space = held.name_space,
          .pod = held.pod,
          .uid = held.uid,
          .node = held.reservation.node,
          .state = state,
          .reason = held.unplaced ? "bound without a reservation: it was given no device" : "",
          .request = held.request,
          .holding = held.written ? entry.holding : nullptr};
}

/// Of its last refusal. A pod that Snug has not refused may wait for a change of a MIG layout,
/// about which kube-scheduler does not call Snug.
std::string reason_of(const PendingRow& pending, const GpuRequest& request,
                      const LayoutChanges& layouts) {
  if (!pending.reason.empty() || layouts.awaited_by(request).empty()) return pending.reason;
  return message(ReasonCode::kReconfiguring);
}

/// Nothing: the pod asks for no GPU.
std::optional<PodRow> pending_row(const PendingRow& pending, const LayoutChanges& layouts) {
  const PodFacts& pod = pending.pod->facts;
  const auto& request = pending.pod->request;
  if (request && request->empty()) return std::nullopt;
  return PodRow{
      .name_space = pod.name_space,
      .pod = pod.name,
      .uid = pod.uid,
      .node = "",
      .state = "pending",
      .reason = request ? reason_of(pending, *request, layouts) : message(request.error()),
      .request = request ? to_text(*request) : "",
      .holding = nullptr};
}

}  // namespace

Reply AdminService::nodes(std::optional<std::string_view> name) {
  std::optional<std::string> body = write_nodes(*parts_.ledger.snapshot(), name);
  if (body) return {200, *std::move(body)};
  return {404, R"({"Error":"Snug knows no node of this name"})"};
}

Reply AdminService::pods() {
  Ledger& ledger = parts_.ledger;
  const SnapshotPtr snapshot = ledger.snapshot();
  const LayoutChanges layouts(*snapshot);
  std::vector<PodRow> rows;
  for (const LedgerEntry& entry : ledger.entries()) rows.push_back(held_row(entry));
  for (const PendingRow& row : parts_.pending.rows()) {
    if (ledger.find(row.pod->facts.uid)) continue;
    if (auto shown = pending_row(row, layouts)) rows.push_back(*std::move(shown));
  }
  std::sort(rows.begin(), rows.end(), [](const PodRow& a, const PodRow& b) {
    return std::tie(a.name_space, a.pod, a.uid) < std::tie(b.name_space, b.pod, b.uid);
  });
  return {200, write_pods(snapshot->generation, rows)};
}

}  // namespace snug
