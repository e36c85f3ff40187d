// Compares the holding of a pod in the ledger with the holding that the API server shows. Pure.
#pragma once

#include "snug/model/reservation.hpp"

namespace snug::ledger {

/// Whether the holding `shown` replaces the holding `known` of the same pod on the same node. It
/// does so in two cases:
///   - `known` is CPU-only, and `shown` is not. Even a reservation that was added by hand then
///     counts: a restart would count it, and the GPUs that it names may be in use.
///   - `known` is unplaced, which closes its node, and the pod no longer requests GPUs.
inline bool is_superseded_by(const model::Holding& known, const model::Holding& shown) {
  if (known.is_cpu_only()) return !shown.is_cpu_only();
  return known.unplaced && !shown.unplaced && !shown.reservation_written;
}

/// Whether two holdings of one pod agree in the facts that may change after the bind.
inline bool same_except_reservation(const model::Holding& a, const model::Holding& b) {
  return a.host == b.host && a.mirrored == b.mirrored && a.terminating == b.terminating &&
         a.has_other_constraints == b.has_other_constraints && a.rank == b.rank;
}

}  // namespace snug::ledger
