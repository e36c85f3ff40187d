#include "snug/agent_service/inventory_publisher.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWriteInterval{base::agent_limits::inventory_interval_ms};
constexpr milliseconds kCheckInterval{base::agent_limits::marks_check_ms};
constexpr milliseconds kLongestRetry{base::agent_limits::marks_retry_last_ms};

milliseconds retry_wait(int failures_in_a_row) {
  milliseconds wait = kWriteInterval;
  for (int i = 1; i < failures_in_a_row && wait < kLongestRetry; ++i) wait *= 2;
  return std::min(wait, kLongestRetry);
}

}  // namespace

void InventoryPublisher::want(NodePort::Marks marks) {
  if (wanted_ == marks) return;
  wanted_ = std::move(marks);
  next_try_ = base::TimePoint::min();
}

void InventoryPublisher::tick(base::TimePoint now) {
  if (!wanted_ || now < next_try_) return;
  base::Result<void> done;
  if (!seen_ || now >= next_check_) done = check(now);
  if (done && seen_ != wanted_) {
    if (now < next_write_) return;
    done = publish(*wanted_, now);
  }
  if (!done) return failed(now, done.error());
  succeeded();
}

base::Result<void> InventoryPublisher::check(base::TimePoint now) {
  auto read = node_.read_marks();
  if (!read) return std::unexpected(read.error());
  if (written_ && *read != written_ && seen_ == written_) {
    log_.write(service::LogLevel::kWarn,
               "another client has changed the inventory, the label or the usage of the node; they "
               "are written again");
  }
  seen_ = *std::move(read);
  next_check_ = now + kCheckInterval;
  return {};
}

base::Result<void> InventoryPublisher::publish(const NodePort::Marks& marks, base::TimePoint now) {
  next_write_ = now + kWriteInterval;
  auto written = node_.write_marks(marks);
  if (!written) return written;
  metrics_.node_written(true);
  seen_ = marks;
  written_ = marks;
  return {};
}

void InventoryPublisher::failed(base::TimePoint now, const base::Error& error) {
  seen_.reset();
  metrics_.node_written(false);
  ++failures_in_a_row_;
  next_try_ = now + retry_wait(failures_in_a_row_);
  if (failures_in_a_row_ > 1) return;
  log_.write(service::LogLevel::kWarn,
             "the inventory of the node cannot be published: " + error.message);
}

void InventoryPublisher::succeeded() {
  if (std::exchange(failures_in_a_row_, 0) == 0) return;
  log_.write(service::LogLevel::kInfo, "the inventory of the node is published again");
}

}  // namespace snug::agent_service
