// Tells operators what snapshots show to be wrong: GPUs that closed and nodes whose holders cannot
// all be right. Each is said once as it begins, by metric, log and an event on every pod that holds
// something there. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/model/snapshot.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class ClosureReporter {
 public:
  ClosureReporter(ApiPort& api, Metrics& metrics, Log& log)
      : api_(api), metrics_(metrics), log_(log) {}

  /// Of one ledger, whose slots become no fewer. Costs what changed since the last call, and a
  /// glance at the version of each other node.
  void look_at(const Snapshot& snapshot);

 private:
  using Texts = std::unordered_set<std::string>;
  struct Told {
    Texts before;  // of all nodes that changed
    Texts now;     // of the node that is looked at
  };

  void look_at_node(const NodeState& node, Told& told);
  /// True: it is said for the first time.
  bool say(ReservationProblem problem, const std::string& text, Told& told);
  void warn(const Holding& holding, ReservationProblem problem, const std::string& text);

  ApiPort& api_;
  Metrics& metrics_;
  Log& log_;
  Generation seen_;
  std::vector<std::uint64_t> versions_;          // that were looked at, by slot
  std::unordered_map<std::size_t, Texts> said_;  // texts that are still true, by slot
};

}  // namespace snug
