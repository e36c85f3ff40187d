// Compares a pod as the API server shows it with the pod's holding in the ledger. Pure.
#pragma once

#include "snug/model/reservation.hpp"

namespace snug {

/// Whether the shown holding replaces the known one of a pod that is bound to the same node:
///   - the known one has no GPUs: what was added counts, even a reservation written by hand, since
///   a
///     restart would count it and the GPUs that it names may be in use;
///   - the known one is unplaced, which closes its node, and the pod no longer requests GPUs.
inline bool gives_way(const Holding& known, const Holding& shown) {
  if (known.of_host_alone()) return !shown.of_host_alone();
  return known.unplaced && !shown.unplaced && !shown.written;
}

/// Whether everything but the reservation is equal.
inline bool same_pod(const Holding& a, const Holding& b) {
  return a.host == b.host && a.terminating == b.terminating &&
         a.other_constraints == b.other_constraints && a.rank == b.rank;
}

}  // namespace snug
