// Keeps what nominated pods ask on their node (status.nominatedNodeName): others were evicted for
// them, and whoever comes after them by rank may not take the room before they are back.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/model/placement.hpp"
#include "snug/model/snapshot.hpp"
#include "snug/plan/claim.hpp"

namespace snug {

/// The pods nominated to one node that come before a claim's. Each is to have its GPUs: on the node
/// as it is; where there is no room, as it will be when its terminating pods are gone; where that
/// is not enough (the API server has not shown the evictions yet), without all pods of lower
/// priority. One that could have none even so stands in nobody's way.
class NominatedFirst {
 public:
  NominatedFirst(const NodeState& node, const Claim& claim, const Around& around);

  /// No nominated pod comes before the claim's: every placement may be taken.
  [[nodiscard]] bool none() const { return before_.empty(); }
  /// Whether they still can when the claim's pod takes this placement.
  [[nodiscard]] bool leaves_room(PlacementView placement) const;

 private:
  class Thought;
  /// Whose end a nominated pod may be waiting for; of those that it needs, the fewest.
  enum class Waits : std::uint8_t { kForNobody, kForTerminating, kForAllAfterIt };
  struct Kept {
    const Nomination* pod = nullptr;
    Waits waits = Waits::kForNobody;
  };

  [[nodiscard]] static bool goes(const Holding& holding, const Nomination& pod, Waits waits);

  const NodeState& node_;
  const Claim& claim_;
  Around around_;
  std::vector<Kept> before_;
};

}  // namespace snug
