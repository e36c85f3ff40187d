// Reports closed GPUs, and conflicts between the pods of a node (model::NodeConflict). Reports each
// problem once, when it begins: by a metric, in the log, and by events. If a GPU is closed, each
// pod that holds it gets an event. If pods of a node conflict, each pod of the node that has GPUs
// gets one. Used by one thread.
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

  /// Reports the problems that have begun since the last call. All snapshots must be of one ledger.
  /// Compares the version of each node, and examines only the nodes that have changed.
  void look_at(const model::Snapshot& snapshot);

 private:
  using ProblemTexts = std::unordered_set<std::string>;
  struct NodeProblems {
    ProblemTexts earlier;  // the earlier texts of all changed nodes
    ProblemTexts current;  // the texts of the current problems of one node
  };

  void report_node(const model::NodeState& node, NodeProblems& problems);
  /// Whether the problem has just begun. If so, counts and logs it.
  bool is_first_report(ReservationProblem problem, const std::string& problem_text,
                       NodeProblems& problems);
  void warn_holder(const model::Holding& holding, ReservationProblem problem,
                   const std::string& problem_text);

  ApiPort& api_;
  Metrics& metrics_;
  Log& log_;
  base::Generation seen_generation_;
  std::vector<std::uint64_t> node_versions_;  // the versions at the last call, by slot
  std::unordered_map<std::size_t, ProblemTexts>
      reported_problems_;  // the texts of current problems, by slot
};

}  // namespace snug::service
