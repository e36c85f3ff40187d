// Reports what is wrong in the ledger's state: closed GPUs, and nodes whose holders cannot all be
// right. Each problem is reported once when it begins, by metric, log and an event on every pod
// that holds something there. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "snug/model/snapshot.hpp"
#include "snug/service/ports.hpp"

namespace snug::service {

class ClosureReporter {
 public:
  ClosureReporter(ApiPort& api, Metrics& metrics, Log& log)
      : api_(api), metrics_(metrics), log_(log) {}

  /// Snapshots of one ledger. Costs one comparison of versions for each node, and work for those
  /// that have changed since the last call.
  void look_at(const model::Snapshot& snapshot);

 private:
  using Texts = std::unordered_set<std::string>;
  struct NodeTexts {
    Texts before;  // of all nodes that changed
    Texts now;     // of the current node
  };

  void look_at_node(const model::NodeState& node, NodeTexts& texts);
  /// Counts and logs a problem that has just begun; false: it was reported before.
  bool is_first_report(ReservationProblem problem, const std::string& text, NodeTexts& texts);
  void warn(const model::Holding& holding, ReservationProblem problem, const std::string& text);

  ApiPort& api_;
  Metrics& metrics_;
  Log& log_;
  base::Generation seen_;
  std::vector<std::uint64_t> versions_;              // of the last call, by slot
  std::unordered_map<std::size_t, Texts> reported_;  // texts that are still true, by slot
};

}  // namespace snug::service
