#include "snug/agent_service/running_containers.hpp"

#include <utility>

#include "snug/agent/container_decision.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {
namespace {

std::shared_ptr<const agent::SandboxView> kept(const agent::SandboxView& sandbox) {
  auto copy =
      std::make_shared<agent::SandboxView>(agent::SandboxView{.id = sandbox.id,
                                                              .name = sandbox.name,
                                                              .uid = sandbox.uid,
                                                              .name_space = sandbox.name_space});
  for (const auto& [key, value] : sandbox.annotations) {
    if (agent::decides_role(key)) copy->annotations.emplace(key, value);
  }
  return copy;
}

agent::ContainerView kept(const agent::ContainerView& container) {
  agent::ContainerView copy{.id = container.id,
                            .sandbox_id = container.sandbox_id,
                            .name = container.name,
                            .state = container.state,
                            .devices = container.devices,
                            .cdi_devices = container.cdi_devices,
                            .cgroup_path = container.cgroup_path};
  const std::string visible = std::string(agent::kVisibleDevices) + "=";
  for (const std::string& variable : container.env) {
    if (variable.starts_with(visible))
      copy.env.push_back(variable.substr(0, base::agent_limits::max_kept_variable_bytes));
  }
  return copy;
}

}  // namespace

void RunningContainers::listed(const std::vector<agent::SandboxView>& sandboxes,
                               const std::vector<agent::ContainerView>& containers) {
  std::map<std::string_view, std::shared_ptr<const agent::SandboxView>> by_sandbox;
  for (const agent::SandboxView& sandbox : sandboxes) by_sandbox.emplace(sandbox.id, kept(sandbox));
  decltype(by_id_) by_id;
  for (const agent::ContainerView& container : containers) {
    const auto found = by_sandbox.find(container.sandbox_id);
    if (found == by_sandbox.end() || container.state == agent::ContainerState::kStopped) continue;
    by_id.insert_or_assign(container.id, std::make_shared<RunningContainer>(
                                             RunningContainer{found->second, kept(container)}));
  }
  const base::MutexLock lock(mutex_);
  by_id_ = std::move(by_id);
  ++lists_;
  ++ends_;
}

void RunningContainers::created(const agent::SandboxView& sandbox,
                                const agent::ContainerView& container) {
  auto entry = std::make_shared<RunningContainer>(RunningContainer{kept(sandbox), kept(container)});
  entry->container.state = agent::ContainerState::kCreated;
  const base::MutexLock lock(mutex_);
  by_id_.insert_or_assign(container.id, std::move(entry));
}

void RunningContainers::ended(std::string_view container_id) {
  const base::MutexLock lock(mutex_);
  const auto found = by_id_.find(container_id);
  if (found == by_id_.end()) return;
  by_id_.erase(found);
  ++ends_;
}

void RunningContainers::sandbox_stopped(std::string_view sandbox_id) {
  const base::MutexLock lock(mutex_);
  ends_ += std::erase_if(
      by_id_, [&](const auto& entry) { return entry.second->sandbox->id == sandbox_id; });
}

RunningContainers::Refs RunningContainers::all() const {
  Refs refs;
  const base::MutexLock lock(mutex_);
  refs.reserve(by_id_.size());
  for (const auto& [id, ref] : by_id_) refs.push_back(ref);
  return refs;
}

std::uint64_t RunningContainers::lists() const {
  const base::MutexLock lock(mutex_);
  return lists_;
}

std::uint64_t RunningContainers::ends() const {
  const base::MutexLock lock(mutex_);
  return ends_;
}

bool RunningContainers::has(std::string_view container_id) const {
  const base::MutexLock lock(mutex_);
  return by_id_.contains(container_id);
}

}  // namespace snug::agent_service
