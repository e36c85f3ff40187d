// Events on nodes: why a node's GPU inventory cannot be used (GpuInventoryUnusable), and that it
// can be used again (GpuInventoryUsable). note() records what is the case; write() passes to the
// API port what differs from a node's last event.
//
// A node gets at most one event of each kind in event_repeat_ms, which says what is the case then.
// All nodes together get at most pod_events_per_s. An event that the port drops is tried again.
// Only the leader writes.
//
// Thread-safe. write() must be called by one thread at a time.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"
#include "snug/service/readiness.hpp"

namespace snug::service {

struct NodeEventsParts {
  const Readiness& readiness;
  ApiPort& api;
  const base::Clock& clock;
};

class NodeEvents {
 public:
  NodeEvents(const NodeEventsParts& parts, const base::Limits& limits)
      : parts_(parts),
        events_per_s_(limits.pod_events_per_s),
        repeat_interval_(limits.event_repeat_ms) {}

  /// `problem`: why the node's inventory cannot be used; empty: it can be used.
  void note(const std::string& node_name, const std::string& problem);
  /// Forgets a node that was deleted. A new node with its name is another node.
  void forget(std::string_view node_name);
  /// Forgets all nodes that are not among `node_names`.
  void keep_only(const std::unordered_set<std::string_view>& node_names);

  /// Writes the events that are due, once a second. Call it more often.
  void write();

 private:
  struct Record {
    std::string problem;       // the current one; empty: none
    std::string told_problem;  // the one in the node's last event; empty: none
    // When the last events were queued.
    std::optional<base::TimePoint> unusable_told;
    std::optional<base::TimePoint> usable_told;

    [[nodiscard]] std::optional<base::TimePoint>& told() {
      return problem.empty() ? usable_told : unusable_told;
    }
  };

  /// Whether an event of the kind that was queued at `told` may be written again.
  [[nodiscard]] bool is_past(const std::optional<base::TimePoint>& told,
                             base::TimePoint now) const {
    return !told || now - *told >= repeat_interval_;
  }

  const NodeEventsParts parts_;
  const std::int64_t events_per_s_;
  const std::chrono::milliseconds repeat_interval_;
  std::optional<base::TimePoint> last_write_;  // used only by write()
  base::Mutex mutex_;
  /// The nodes with a problem, and those with an event in the last event_repeat_ms, by name.
  std::map<std::string, Record, std::less<>> records_ SNUG_GUARDED_BY(mutex_);
  std::string last_told_ SNUG_GUARDED_BY(mutex_);  // the node that got the last event
};

}  // namespace snug::service
