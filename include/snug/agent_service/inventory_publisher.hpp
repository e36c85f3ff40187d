// Keeps the marks on the agent's Node (its inventory, the label of an enforced node, and its usage)
// as they are wanted. A change is written at once, but at most once in inventory_interval_ms. The
// marks are read before the first write, after each failure and every marks_check_ms; nothing is
// written if they are as wanted. After a failure the publisher backs off, until other marks are
// wanted. One thread at a time.
#pragma once

#include <optional>

#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class InventoryPublisher {
 public:
  InventoryPublisher(NodePort& node, AgentMetrics& metrics, service::Log& log)
      : node_(node), metrics_(metrics), log_(log) {}

  void want(NodePort::Marks marks);
  /// Reads and writes what is due at `now`. Call this often: after want(), and at least once in
  /// inventory_interval_ms.
  void tick(base::TimePoint now);

  /// Whether the node is known to have the wanted marks.
  [[nodiscard]] bool is_published() const { return wanted_ && seen_ == wanted_; }

 private:
  [[nodiscard]] base::Result<void> check(base::TimePoint now);
  [[nodiscard]] base::Result<void> publish(const NodePort::Marks& marks, base::TimePoint now);
  void failed(base::TimePoint now, const base::Error& error);
  void succeeded();

  NodePort& node_;
  AgentMetrics& metrics_;
  service::Log& log_;
  std::optional<NodePort::Marks> wanted_;
  std::optional<NodePort::Marks> seen_;  // on the node, as last read or written; nullopt: unknown
  std::optional<NodePort::Marks> written_;  // by the last successful write
  base::TimePoint next_check_ = base::TimePoint::min();
  base::TimePoint next_write_ = base::TimePoint::min();
  base::TimePoint next_try_ = base::TimePoint::min();
  int failures_in_a_row_ = 0;
};

}  // namespace snug::agent_service
