#include "snug/service/state_view.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "snug/codec/state_codec.hpp"
#include "snug/request/parse.hpp"
#include "snug/service/layout_changes.hpp"

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

/// Its last refusal; of a pod that Snug has not refused, what it waits for without Snug being
/// asked.
std::string reason_of(const PendingRow& pending, const GpuRequest& request,
                      const LayoutChanges& layouts) {
  if (!pending.reason.empty() || layouts.awaited_by(request).empty()) return pending.reason;
  return message(ReasonCode::kReconfiguring);
}

/// Nothing: the pod asks for no GPU.
std::optional<PodRow> pending_row(const PendingRow& pending, const LayoutChanges& layouts) {
  const PodFacts& pod = *pending.pod;
  const auto request = parse_request(pod);
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

Reply show_nodes(Ledger& ledger, std::optional<std::string_view> name) {
  std::optional<std::string> body = write_nodes(*ledger.snapshot(), name);
  if (body) return {200, *std::move(body)};
  return {404, R"({"Error":"Snug knows no node of this name"})"};
}

Reply show_pods(Ledger& ledger, const PendingPods& pending) {
  const SnapshotPtr snapshot = ledger.snapshot();
  const LayoutChanges layouts(*snapshot);
  std::vector<PodRow> rows;
  for (const LedgerEntry& entry : ledger.entries()) rows.push_back(held_row(entry));
  for (const PendingRow& row : pending.rows()) {
    if (ledger.find(row.pod->uid)) continue;
    if (auto shown = pending_row(row, layouts)) rows.push_back(*std::move(shown));
  }
  std::sort(rows.begin(), rows.end(), [](const PodRow& a, const PodRow& b) {
    return std::tie(a.name_space, a.pod, a.uid) < std::tie(b.name_space, b.pod, b.uid);
  });
  return {200, write_pods(snapshot->generation, rows)};
}

}  // namespace snug
