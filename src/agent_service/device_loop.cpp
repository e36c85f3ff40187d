#include "snug/agent_service/device_loop.hpp"

#include <algorithm>

#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

constexpr std::chrono::milliseconds kPoll{base::agent_limits::device_poll_ms};
constexpr std::chrono::milliseconds kPause{base::agent_limits::device_pause_ms};

}  // namespace

void DeviceLoop::read() {
  last_read_ = clock_.now();
  monitor_.read();
  next_read_ = clock_.now() + kPoll;
}

void DeviceLoop::step(std::chrono::milliseconds timeout) {
  if (clock_.now() >= next_read_) read();
  if (slices_ != nullptr && slices_->tick(clock_.now())) {
    read();
    return;  // there may be more to do
  }
  if (usage_ != nullptr) usage_->tick(clock_.now());
  if (monitor_.wait_for_event(timeout)) next_read_ = std::min(next_read_, last_read_ + kPause);
}

}  // namespace snug::agent_service
