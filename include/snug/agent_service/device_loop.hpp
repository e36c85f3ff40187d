// What the thread of the GPU driver does, again and again: reads all GPUs every device_poll_ms,
// soon after an event of the driver, and after each change of a MIG slice; makes and destroys
// slices; and measures how much of the GPUs is in use. Programs that use the GPUs may cause events
// in any number, so two reads have device_pause_ms between their beginnings. One thread at a time.
#pragma once

#include <chrono>

#include "snug/agent_service/device_monitor.hpp"
#include "snug/agent_service/slice_keeper.hpp"
#include "snug/agent_service/usage_meter.hpp"
#include "snug/base/clock.hpp"

namespace snug::agent_service {

class DeviceLoop {
 public:
  /// `slices` and `usage` are null if the operator does not want them.
  DeviceLoop(DeviceMonitor& monitor, SliceKeeper* slices, UsageMeter* usage,
             const base::Clock& clock)
      : monitor_(monitor), slices_(slices), usage_(usage), clock_(clock) {}

  /// Does what is due, at most one change of a slice, and then waits up to `timeout` for an event.
  void step(std::chrono::milliseconds timeout);

 private:
  void read();

  DeviceMonitor& monitor_;
  SliceKeeper* const slices_;
  UsageMeter* const usage_;
  const base::Clock& clock_;
  base::TimePoint last_read_ = base::TimePoint::min();
  base::TimePoint next_read_ = base::TimePoint::min();
};

}  // namespace snug::agent_service
