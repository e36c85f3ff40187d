#include "snug/agent_service/share_limiter.hpp"

#include <chrono>
#include <utility>

#include "snug/agent/cgroup_folder.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::agent_service {
namespace {

constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

}  // namespace

ShareLimiter::ShareLimiter(const Parts& parts, agent::ShareSettings settings)
    : parts_(parts), chosen_(std::move(settings)) {
  missing_file_ = missing_file();
}

void ShareLimiter::runtime_connected(bool start_refusal) {
  const base::MutexLock lock(mutex_);
  start_refusal_ = start_refusal;
}

std::string ShareLimiter::missing_file() const {
  if (chosen_.limits == model::ShareLimits::kHamiCore) {
    for (const char* name : {"/libvgpu.so", "/ld.so.preload"}) {
      const std::string path = chosen_.hami_core + name;
      if (!parts_.host.exists(path)) return path + " does not exist on the host";
    }
  }
  // Only the root of a hierarchy of version 2 has this file.
  if (chosen_.limits == model::ShareLimits::kDriver &&
      !parts_.host.exists(std::string(kCgroupRoot) + "/cgroup.controllers")) {
    return "the host does not use cgroup version 2";
  }
  return {};
}

std::string ShareLimiter::why_not() {
  const bool needs_driver = chosen_.limits == model::ShareLimits::kDriver;
  const bool driver_can = !needs_driver || parts_.memory.can_limit();
  const base::MutexLock lock(mutex_);
  if (!missing_file_.empty()) return missing_file_;
  if (!driver_can) return "the driver cannot limit the memory of a cgroup; 615 or later can";
  if (needs_driver && !start_refusal_) {
    return "the container runtime is not connected, or starts containers that a plug-in refuses; "
           "containerd does not";
  }
  return {};
}

void ShareLimiter::refresh(base::TimePoint now) {
  if (now >= next_look_) {
    next_look_ = now + std::chrono::milliseconds(base::agent_limits::host_check_ms);
    std::string missing = missing_file();
    const base::MutexLock lock(mutex_);
    missing_file_ = std::move(missing);
  }
  std::string reason = why_not();
  if (reason == logged_) return;
  logged_ = std::move(reason);
  const std::string enforcer(model::kShareLimitsNames[chosen_.limits]);
  parts_.log.write(logged_.empty() ? service::LogLevel::kInfo : service::LogLevel::kWarn,
                   logged_.empty() ? "shares are limited by " + enforcer
                                   : "shares are not limited by " + enforcer + ": " + logged_);
}

agent::ShareSettings ShareLimiter::settings() {
  agent::ShareSettings settings = chosen_;
  if (!why_not().empty()) settings.limits = model::ShareLimits::kNone;
  return settings;
}

base::Result<void> ShareLimiter::limit(std::string_view cgroup_path,
                                       std::span<const agent::MemoryLimit> limits) {
  if (limits.empty() || settings().limits != model::ShareLimits::kDriver) return {};
  const auto folder = agent::cgroup_folder(cgroup_path);
  if (!folder) {
    return base::fail(base::ErrorCode::kInvalid, "the cgroup path " + base::in_quotes(cgroup_path) +
                                                     " of the container has an unknown form");
  }
  const std::string path = parts_.host.path_here(std::string(kCgroupRoot) + *folder);
  for (const agent::MemoryLimit& limit : limits) {
    if (auto done = parts_.memory.limit_memory(limit.gpu_uuid, path, limit.memory); !done)
      return done;
  }
  return {};
}

}  // namespace snug::agent_service
