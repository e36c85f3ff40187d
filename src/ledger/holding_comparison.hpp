// Compares a pod as the API server shows it with the pod's holding in the ledger. Pure.
#pragma once

#include "snug/model/reservation.hpp"

namespace snug::ledger {

/// Whether the shown holding replaces the known one of a pod that is bound to the same node:
///   - the known one has no GPUs: what was added counts, even a reservation written by hand, since
///   a
///     restart would count it and the GPUs that it names may be in use;
///   - the known one is unplaced, which closes its node, and the pod no longer requests GPUs.
inline bool is_superseded_by(const model::Holding& known, const model::Holding& shown) {
  if (known.is_cpu_only()) return !shown.is_cpu_only();
  return known.unplaced && !shown.unplaced && !shown.reservation_written;
}

/// Whether everything but the reservation is equal.
inline bool same_except_reservation(const model::Holding& a, const model::Holding& b) {
  return a.host == b.host && a.terminating == b.terminating &&
         a.has_other_constraints == b.has_other_constraints && a.rank == b.rank;
}

}  // namespace snug::ledger
