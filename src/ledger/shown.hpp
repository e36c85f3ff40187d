// How what the API server shows of a pod compares with what the ledger holds for it. Pure.
#pragma once

#include "snug/model/reservation.hpp"

namespace snug {

/// Whether the ledger's holding is replaced by the one shown, though the pod is bound to the same
/// node. A pod without devices closes its node by what it shows itself to ask. What is added to one
/// that had no GPU counts, a reservation too: a restart would count it, and GPUs that it names may
/// be used.
inline bool gives_way(const Holding& known, const Holding& shown) {
  if (known.of_host_alone()) return !shown.of_host_alone();
  return known.unplaced && !shown.unplaced && !shown.written;
}

/// Whether all but the reservation is the same.
inline bool same_pod(const Holding& a, const Holding& b) {
  return a.host == b.host && a.terminating == b.terminating &&
         a.other_constraints == b.other_constraints && a.rank == b.rank;
}

}  // namespace snug
