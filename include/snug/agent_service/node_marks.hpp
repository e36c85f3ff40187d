// Decides what the agent says of its node, and keeps it there by an InventoryPublisher: the
// inventory, the label of an enforced node, and the usage. Before the first write
// it adopts what an earlier agent has said of the container runtime in this boot: that is about the
// runtime, and stands until it is disproved.
//
// Thread-safety: one thread at a time calls tick(); any thread may call is_published().
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "snug/agent/inventory.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/enforcement.hpp"
#include "snug/agent_service/inventory_publisher.hpp"
#include "snug/agent_service/mps_keeper.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/agent_service/share_limiter.hpp"
#include "snug/agent_service/slice_troubles.hpp"
#include "snug/agent_service/usage_meter.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class NodeMarksKeeper {
 public:
  struct Parts {
    NodePort& node;
    const NodeBook& book;
    EnforcementKeeper& enforcement;
    ShareLimiter& limiter;
    const SliceTroubleBook& slice_troubles;
    AgentMetrics& metrics;
    service::Log& log;
    const MpsKeeper* mps = nullptr;     // null: no daemons are kept
    const UsageMeter* usage = nullptr;  // null: the usage is not published
  };
  struct Options {
    std::string node;
    agent::InventorySettings settings;  // what does not change while the agent runs
    base::Limits limits;
  };

  NodeMarksKeeper(const Parts& parts, Options options);

  struct Knowledge {
    bool has_devices = false;  // the GPUs have been read
    bool can_answer = false;   // and the pods are listed and the container runtime is connected
  };

  /// Reads and writes what is due at `now`. Nothing is written before the GPUs are read, nor, for
  /// driver_patience_ms, before the agent can answer: it would say less than the agent before it.
  void tick(base::TimePoint now, const Knowledge& knowledge);
  /// Whether the node is known to have what the agent wants to say.
  [[nodiscard]] bool is_published() const { return is_published_; }

 private:
  /// What the marks are made from.
  struct Sources {
    std::shared_ptr<const NodeKnowledge> knowledge;
    std::shared_ptr<const SliceTroubles> slice_troubles;
    std::map<std::string, std::string, std::less<>> mps_failures;
    model::Enforcement enforcement = model::Enforcement::kOpen;
    model::ShareLimits limits = model::ShareLimits::kNone;
    std::optional<std::string> usage;

    friend bool operator==(const Sources&, const Sources&) = default;
  };

  void adopt_claim(base::TimePoint now);
  [[nodiscard]] bool knows_enough(base::TimePoint now, const Knowledge& knowledge);
  [[nodiscard]] Sources look() const;
  void want_marks();

  const Parts parts_;
  const Options options_;
  InventoryPublisher publisher_;
  base::TimePoint next_claim_ = base::TimePoint::min();
  bool claim_known_ = false;
  bool claim_failed_ = false;  // to read it
  bool knew_all_ = false;
  std::optional<base::TimePoint> waits_since_;
  Sources wanted_;  // what the publisher was told last; empty: nothing
  std::atomic<bool> is_published_ = false;
};

}  // namespace snug::agent_service
