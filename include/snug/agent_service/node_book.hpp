// What the agent last learned of its node's GPUs and of the files of their driver. Thread-safe: the
// thread that reads the driver sets it, the threads that answer the container runtime read it.
#pragma once

#include <memory>

#include "snug/agent/device_report.hpp"
#include "snug/agent/driver_files.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

struct NodeKnowledge {
  agent::NodeDevices devices;
  agent::DriverFiles files;

  friend bool operator==(const NodeKnowledge&, const NodeKnowledge&) = default;
};

class NodeBook {
 public:
  /// Never null.
  [[nodiscard]] std::shared_ptr<const NodeKnowledge> get() const SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return knowledge_;
  }
  void set(std::shared_ptr<const NodeKnowledge> knowledge) SNUG_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    knowledge_ = std::move(knowledge);
  }

 private:
  mutable base::Mutex mutex_;
  std::shared_ptr<const NodeKnowledge> knowledge_ SNUG_GUARDED_BY(mutex_) =
      std::make_shared<const NodeKnowledge>();
};

}  // namespace snug::agent_service
