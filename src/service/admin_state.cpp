#include <algorithm>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "service/holding_remark.hpp"
#include "service/layout_changes.hpp"
#include "service/pending_reason.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/admin_state_codec.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::service {
namespace {

codec::PodRow held_row(const ledger::LedgerEntry& entry, const model::Snapshot& snapshot) {
  const model::Holding& holding = *entry.holding;
  const bool is_bound = entry.state == ledger::HoldingState::kBound;
  // A pod whose bind is unsettled is shown as reserved, because its devices are still reserved.
  std::string_view state_name =
      ledger::kHoldingStateNames[is_bound ? ledger::HoldingState::kBound
                                          : ledger::HoldingState::kReserved];
  if (holding.terminating) state_name = "terminating";
  return {.name_space = holding.name_space,
          .pod = holding.pod,
          .uid = holding.uid,
          .node = holding.reservation.node,
          .state = state_name,
          .reason = holding.unplaced ? "bound without a reservation: it was given no device"
                                     : unknown_node_remark(holding, snapshot),
          .request_text = holding.request_text,
          .holding = holding.reservation_written ? entry.holding : nullptr};
}

/// The row of a pending pod in the answer to GET /v1/pods.
codec::PodRow pending_row(const PendingRow& pending_pod, const LayoutChanges& layout_changes) {
  const model::PodFacts& pod = pending_pod.pod->facts;
  const auto& request = pending_pod.pod->request;
  const model::Refusal refusal = pending_reason(pending_pod, layout_changes);
  return {.name_space = pod.name_space,
          .pod = pod.name,
          .uid = pod.uid,
          .node = "",
          .state = "pending",
          .reason = refusal.code == model::ReasonCode::kNone ? "" : model::message(refusal),
          .request_text = request ? model::to_text(*request) : "",
          .holding = nullptr};
}

std::string random_name() {
  std::random_device entropy;
  return base::hex_number((std::uint64_t{entropy()} << 32) | entropy());
}

}  // namespace

AdminService::AdminService(AdminParts parts) : parts_(parts), instance_(random_name()) {}

Reply AdminService::nodes(std::optional<std::string_view> node_name) {
  std::optional<std::string> nodes_json = codec::write_nodes(*parts_.ledger.snapshot(), node_name);
  if (nodes_json) return {200, *std::move(nodes_json)};
  return {404, R"({"Error":"Snug does not know a node of this name"})"};
}

Reply AdminService::nodes_since(std::string_view version) {
  return {200, codec::write_changed_nodes(*parts_.ledger.snapshot(), instance_, version)};
}

Reply AdminService::pods(std::optional<std::string_view> name_space) {
  ledger::Ledger& ledger = parts_.ledger;
  const model::SnapshotPtr snapshot = ledger.snapshot();
  const LayoutChanges layout_changes(*snapshot);
  std::vector<codec::PodRow> pod_rows;
  for (const ledger::LedgerEntry& entry : ledger.gpu_entries())
    pod_rows.push_back(held_row(entry, *snapshot));
  for (const PendingRow& pending_pod : pods_waiting_for_gpu(parts_.pending, ledger))
    pod_rows.push_back(pending_row(pending_pod, layout_changes));
  if (name_space)
    std::erase_if(pod_rows,
                  [&](const codec::PodRow& row) { return row.name_space != *name_space; });
  std::sort(pod_rows.begin(), pod_rows.end(), [](const codec::PodRow& a, const codec::PodRow& b) {
    return std::tie(a.name_space, a.pod, a.uid) < std::tie(b.name_space, b.pod, b.uid);
  });
  return {200, codec::write_pods(snapshot->generation, pod_rows)};
}

}  // namespace snug::service
