// The containers that run on the node, as the container runtime tells the agent: those of its last
// list and those created since, without those that have ended. Thread-safe; no lock is held during
// I/O. It has as many containers as the runtime, and of each only what audits and limits need.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/container_view.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

struct RunningContainer {
  /// Without labels; of its annotations those that agent::decides_role(). Never null.
  std::shared_ptr<const agent::SandboxView> sandbox;
  /// Without mounts; of its env the beginning of NVIDIA_VISIBLE_DEVICES.
  agent::ContainerView container;
};

class RunningContainers {
 public:
  using Ref = std::shared_ptr<const RunningContainer>;  // never null
  using Refs = std::vector<Ref>;                        // by ascending ids

  /// Replaces all. Containers whose sandbox is not listed, and ended ones, are left out.
  void listed(const std::vector<agent::SandboxView>& sandboxes,
              const std::vector<agent::ContainerView>& containers) SNUG_EXCLUDES(mutex_);
  /// `container` as the runtime has created it, so with the devices that it got by CDI. Called
  /// again when it starts: a StopContainer before that has removed it.
  void created(const agent::SandboxView& sandbox, const agent::ContainerView& container)
      SNUG_EXCLUDES(mutex_);
  void ended(std::string_view container_id) SNUG_EXCLUDES(mutex_);
  void sandbox_stopped(std::string_view sandbox_id) SNUG_EXCLUDES(mutex_);

  [[nodiscard]] Refs all() const SNUG_EXCLUDES(mutex_);
  /// The number of lists so far.
  [[nodiscard]] std::uint64_t lists() const SNUG_EXCLUDES(mutex_);
  /// A number that changes when a container ends, and with each list.
  [[nodiscard]] std::uint64_t ends() const SNUG_EXCLUDES(mutex_);
  [[nodiscard]] bool has(std::string_view container_id) const SNUG_EXCLUDES(mutex_);

 private:
  mutable base::Mutex mutex_;
  std::map<std::string, Ref, std::less<>> by_id_ SNUG_GUARDED_BY(mutex_);
  std::uint64_t lists_ SNUG_GUARDED_BY(mutex_) = 0;
  std::uint64_t ends_ SNUG_GUARDED_BY(mutex_) = 0;
};

}  // namespace snug::agent_service
