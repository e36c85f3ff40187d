#include "snug/agent_service/usage_meter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "snug/agent_codec/usage_writer.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

constexpr std::chrono::milliseconds kUsageInterval{base::agent_limits::usage_interval_ms};

}  // namespace

void UsageMeter::tick(base::TimePoint now) {
  if (now < next_read_) return;
  next_read_ = now + kUsageInterval;
  const auto measured = port_.read_usage();
  if (!measured && !has_failed_) {
    log_.write(service::LogLevel::kWarn,
               "how much of the GPUs is in use cannot be read: " + measured.error().message);
  }
  has_failed_ = !measured;
  last_ = measured ? in_steps(*measured) : std::vector<agent::PublishedUsage>{};
  std::optional<std::string> annotation;
  if (!last_.empty()) annotation = agent_codec::write_usage(last_);
  const base::MutexLock lock(mutex_);
  annotation_ = std::move(annotation);
}

std::optional<std::string> UsageMeter::annotation() const {
  const base::MutexLock lock(mutex_);
  return annotation_;
}

std::vector<agent::PublishedUsage> UsageMeter::in_steps(
    const std::vector<DeviceUsage>& measured) const {
  std::vector<agent::PublishedUsage> usage;
  usage.reserve(measured.size());
  for (const DeviceUsage& gpu : measured) {
    const auto before = std::ranges::find(last_, gpu.uuid, &agent::PublishedUsage::uuid);
    const auto step = [&](int percent, int agent::PublishedUsage::* member) {
      return agent::usage_step(
          percent, before == last_.end() ? std::nullopt : std::optional(*before.*member));
    };
    usage.push_back(
        {.uuid = gpu.uuid,
         .memory_percent = step(gpu.memory_percent, &agent::PublishedUsage::memory_percent),
         .compute_percent = step(gpu.compute_percent, &agent::PublishedUsage::compute_percent)});
  }
  return usage;
}

}  // namespace snug::agent_service
