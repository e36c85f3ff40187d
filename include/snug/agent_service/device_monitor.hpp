// Reads the GPUs, judges their health and passes the result on: to the NodeBook for containers that
// are created, and as the inventory for the node. The files of the driver are searched again when
// the driver's version or its GPUs and slices change or the driver answers again, and as long as a
// device node is missing: the driver makes some of them only when it is used. A GPU whose report
// cannot be right is passed on as it was before, not healthy, or left out.
//
// Thread-safety: one thread calls read(), another one wait_for_event().
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/agent/doubtful_gpus.hpp"
#include "snug/agent/gpu_health.hpp"
#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/node_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class DeviceMonitor {
 public:
  struct Parts {
    DevicePort& devices;
    HostFilesPort& host;
    NodeBook& book;
    AgentMetrics& metrics;
    service::Log& log;
    const base::Clock& clock;
  };

  explicit DeviceMonitor(const Parts& parts) : parts_(parts) {}

  /// Reads all GPUs. If the driver does not answer, the GPUs of the last report are published as
  /// unhealthy, because pods may hold them.
  void read() SNUG_EXCLUDES(mutex_);
  /// Waits up to `timeout` for an event of the driver. Returns whether there was one; then read()
  /// should be called.
  bool wait_for_event(std::chrono::milliseconds timeout) SNUG_EXCLUDES(mutex_);
  /// Whether the GPUs are known: the driver has answered at least once, or the node has none, or
  /// the driver has not answered for driver_patience_ms, and then counts as having no GPUs.
  [[nodiscard]] bool has_read() const SNUG_EXCLUDES(mutex_);
  /// Whether read() has returned in the last driver_hung_ms.
  [[nodiscard]] bool is_alive() const SNUG_EXCLUDES(mutex_);

 private:
  /// Whether the files of the last report are those of `devices`.
  [[nodiscard]] bool has_files_of(const agent::NodeDevices& devices) const;
  void find_files(const agent::NodeDevices& devices, NodeKnowledge& knowledge);
  /// Takes over what the driver reports, but for GPUs whose report cannot be right.
  void take(agent::NodeDevices devices, NodeKnowledge& knowledge);

  const Parts parts_;
  bool answers_ = true;  // used by the reading thread alone, like the next three
  std::vector<agent::LeftOutGpu> left_out_;
  std::string files_error_;  // the last one that was logged
  std::shared_ptr<const NodeKnowledge> last_ = std::make_shared<const NodeKnowledge>();
  mutable base::Mutex mutex_;
  agent::GpuHealth health_ SNUG_GUARDED_BY(mutex_);
  bool has_read_ SNUG_GUARDED_BY(mutex_) = false;
  std::optional<base::TimePoint> first_try_ SNUG_GUARDED_BY(mutex_);
  base::TimePoint last_return_ SNUG_GUARDED_BY(mutex_);
};

}  // namespace snug::agent_service
