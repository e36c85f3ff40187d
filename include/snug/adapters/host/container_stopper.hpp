// Kills the processes of a container, which it finds by the container's cgroup in /proc. The agent
// must be root, have CAP_KILL and be in the host's PID namespace. A process is identified by a
// pidfd, so that none is killed that got the pid of one which has ended. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "snug/agent_service/ports.hpp"

namespace snug::host {

class ContainerStopper final : public agent_service::ContainerStopPort {
 public:
  /// `proc`: where procfs is mounted.
  explicit ContainerStopper(std::string proc = "/proc") : proc_(std::move(proc)) {}

  [[nodiscard]] base::Result<void> stop_container(std::string_view container_id,
                                                  std::string_view cgroup_path) override;

 private:
  const std::string proc_;
};

}  // namespace snug::host
