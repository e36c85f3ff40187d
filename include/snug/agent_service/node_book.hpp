// What the agent last learned of its node's GPUs and of the files of their driver. Thread-safe: the
// thread that reads the driver sets it, the threads that answer the container runtime read it.
#pragma once

#include "snug/agent/device_report.hpp"
#include "snug/agent/driver_files.hpp"
#include "snug/agent_service/book.hpp"

namespace snug::agent_service {

struct NodeKnowledge {
  agent::NodeDevices devices;
  agent::DriverFiles files;

  friend bool operator==(const NodeKnowledge&, const NodeKnowledge&) = default;
};

using NodeBook = Book<NodeKnowledge>;

}  // namespace snug::agent_service
