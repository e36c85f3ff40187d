// Tells operators what snapshots show to be wrong: GPUs that closed and nodes whose holders cannot
// all be right. Each is said once as it begins, by metric, log and an event on every pod that holds
// something there. Used by one thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/model/snapshot.hpp"
#include "snug/service/ports.hpp"

namespace snug {

class ClosureReporter {
 public:
  ClosureReporter(ApiPort& api, Metrics& metrics, Log& log)
      : api_(api), metrics_(metrics), log_(log) {}

  void look_at(const Snapshot& snapshot);

 private:
  void look_at_node(const NodeState& node, std::unordered_set<std::string>& now);
  /// True: it is said for the first time.
  bool say(std::string_view kind, const std::string& text, std::unordered_set<std::string>& now);
  void warn(const Holding& holding, std::string_view kind, const std::string& text);

  ApiPort& api_;
  Metrics& metrics_;
  Log& log_;
  Generation seen_;
  std::unordered_set<std::string> said_;  // texts that are still true
};

}  // namespace snug
