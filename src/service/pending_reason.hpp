// Why a pending pod waits, as GET /v1/pods, GET /v1/cluster and the metrics say it.
#pragma once

#include <vector>

#include "service/layout_changes.hpp"
#include "snug/ledger/ledger.hpp"
#include "snug/model/reasons.hpp"
#include "snug/service/pending_pods.hpp"

namespace snug::service {

/// The pending pods that wait for a GPU: each asks for one, or its request is malformed, and the
/// ledger has no entry for it.
[[nodiscard]] std::vector<PendingRow> pods_waiting_for_gpu(const PendingPods& pending,
                                                           const ledger::Ledger& ledger);

/// The reason why Snug last refused the pod; for a malformed request, why it is malformed. If Snug
/// has not refused the pod, it may be waiting for a change of a node's MIG layout, during which
/// kube-scheduler does not call Snug for this pod. kNone: none of these.
[[nodiscard]] model::Refusal pending_reason(const PendingRow& pending_pod,
                                            const LayoutChanges& layout_changes);

}  // namespace snug::service
