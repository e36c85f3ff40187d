// Explains the refusal of a scenario's incoming pod, for tests.
#pragma once

#include "snug/explain/explain.hpp"
#include "support/repack_scenario.hpp"

namespace snug {

inline explain::Explanation explained(const RepackScenario& on) {
  const model::Snapshot snapshot = on.snapshot();
  return explain::explain(
      {.snapshot = snapshot, .incoming = on.incoming.view(), .protected_uids = on.protected_uids});
}

}  // namespace snug
