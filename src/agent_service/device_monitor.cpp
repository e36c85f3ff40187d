#include "snug/agent_service/device_monitor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "snug/agent/container_decision.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

using std::chrono::milliseconds;

/// What decides which files a container needs.
bool has_same_files(const agent::NodeDevices& one, const agent::NodeDevices& other) {
  return one.driver_version == other.driver_version &&
         std::ranges::equal(one.gpus, other.gpus, [](const auto& left, const auto& right) {
           return left.minor == right.minor && left.mig_slices == right.mig_slices;
         });
}

void log_health(service::Log& log, const agent::NodeDevices& before,
                const agent::NodeDevices& after) {
  if (!before.gpus.empty() && before.gpus.size() != after.gpus.size()) {
    log.write(service::LogLevel::kInfo, "the driver reports another number of GPUs",
              {{"before", std::ssize(before.gpus)}, {"now", std::ssize(after.gpus)}});
  }
  for (const agent::DeviceReport& gpu : after.gpus) {
    const auto known = std::ranges::find(before.gpus, gpu.uuid, &agent::DeviceReport::uuid);
    const bool was_healthy = known == before.gpus.end() || known->healthy;
    if (gpu.healthy == was_healthy) continue;
    log.write(gpu.healthy ? service::LogLevel::kInfo : service::LogLevel::kWarn,
              gpu.healthy ? "the GPU is healthy again" : "the GPU is not healthy",
              {{"gpu", gpu.uuid}, {"reason", gpu.ailment}});
  }
}

}  // namespace

void DeviceMonitor::take(agent::NodeDevices devices, NodeKnowledge& knowledge) {
  knowledge.devices = std::move(devices);
  auto left_out = agent::replace_doubtful(knowledge.devices, last_->devices);
  for (const agent::LeftOutGpu& gpu : left_out) {
    if (std::ranges::find(left_out_, gpu) != left_out_.end()) continue;
    parts_.log.write(service::LogLevel::kError, "the GPU is left out",
                     {{"index", std::int64_t{gpu.index}}, {"reason", gpu.reason}});
  }
  left_out_ = std::move(left_out);
}

bool DeviceMonitor::has_files_of(const agent::NodeDevices& devices) const {
  return files_error_.empty() && has_same_files(devices, last_->devices) &&
         agent::has_all_nodes(devices, last_->files);
}

void DeviceMonitor::find_files(const agent::NodeDevices& devices, NodeKnowledge& knowledge) {
  auto files = parts_.host.driver_files(devices.driver_version);
  if (files) {
    knowledge.files = *std::move(files);
    files_error_.clear();
    return;
  }
  knowledge.files = last_->files;
  if (std::exchange(files_error_, files.error().message) != files_error_) {
    parts_.log.write(service::LogLevel::kError, "the driver's files cannot be read",
                     {{"reason", files_error_}});
  }
}

void DeviceMonitor::read() {
  auto devices = parts_.devices.read();
  const bool answers = devices.has_value();
  if (answers != answers_) {
    parts_.log.write(answers ? service::LogLevel::kInfo : service::LogLevel::kError,
                     answers ? "the GPU driver answers again" : "the GPU driver does not answer",
                     {{"reason", answers ? std::string_view() : devices.error().message}});
  }
  const bool answers_again = answers && !answers_;
  answers_ = answers;
  auto knowledge = std::make_shared<NodeKnowledge>();
  if (answers) take(*std::move(devices), *knowledge);
  {
    const base::MutexLock lock(mutex_);
    if (answers) {
      health_.apply(knowledge->devices, parts_.clock.now());
      has_read_ = true;
    } else {
      agent::NodeDevices none;
      health_.apply(none, parts_.clock.now());
      if (!first_try_) first_try_ = parts_.clock.now();
      // Else the node would go on with what an earlier agent has published.
      if (parts_.clock.now() - *first_try_ >= milliseconds(base::agent_limits::driver_patience_ms))
        has_read_ = true;
      knowledge->devices = last_->devices;
      for (agent::DeviceReport& gpu : knowledge->devices.gpus) {
        gpu.healthy = false;
        gpu.ailment = "the driver does not answer";
      }
    }
  }
  log_health(parts_.log, last_->devices, knowledge->devices);
  const bool has_files = !answers || knowledge->devices.gpus.empty() ||
                         (!answers_again && has_files_of(knowledge->devices));
  if (has_files) {
    knowledge->files = last_->files;
  } else {
    find_files(knowledge->devices, *knowledge);
  }
  const auto healthy =
      std::ranges::count(knowledge->devices.gpus, true, &agent::DeviceReport::healthy);
  parts_.metrics.devices_read(
      answers, healthy, std::ssize(knowledge->devices.gpus) - healthy + std::ssize(left_out_));
  last_ = knowledge;
  parts_.book.set(std::move(knowledge));
  const base::MutexLock lock(mutex_);
  last_return_ = parts_.clock.now();
}

bool DeviceMonitor::is_alive() const {
  const base::MutexLock lock(mutex_);
  return parts_.clock.now() - last_return_ < milliseconds(base::agent_limits::driver_hung_ms);
}

bool DeviceMonitor::wait_for_event(std::chrono::milliseconds timeout) {
  const auto waited = parts_.devices.wait_for_event(timeout);
  if (!waited) return false;
  const std::optional<DeviceEvent>& event = *waited;
  if (!event) return false;
  if (event->xid != 0) {
    parts_.log.write(service::LogLevel::kWarn, agent::xid_sentence(event->xid),
                     {{"gpu", event->uuid}});
    const base::MutexLock lock(mutex_);
    health_.note_xid(event->uuid, event->xid, parts_.clock.now());
  }
  return true;
}

bool DeviceMonitor::has_read() const {
  const base::MutexLock lock(mutex_);
  return has_read_;
}

}  // namespace snug::agent_service
