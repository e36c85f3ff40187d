#include "snug/agent_service/enforcement.hpp"

namespace snug::agent_service {

bool EnforcementKeeper::is_probe(const agent::SandboxView& sandbox,
                                 const agent::ContainerView& container) const {
  return !own_pod_.uid.empty() && sandbox.uid == own_pod_.uid && container.name == kProbeContainer;
}

void EnforcementKeeper::claimed() {
  const base::MutexLock lock(mutex_);
  proof_.claimed();
}

void EnforcementKeeper::runtime_connected(bool validates) {
  const base::MutexLock lock(mutex_);
  connected_ = true;
  proof_.runtime_connected(validates);
}

void EnforcementKeeper::runtime_disconnected() {
  const base::MutexLock lock(mutex_);
  connected_ = false;
  proof_.runtime_disconnected();
}

void EnforcementKeeper::probe_withdrawn() {
  const base::MutexLock lock(mutex_);
  proof_.probe_withdrawn();
}

void EnforcementKeeper::container_requested(const agent::SandboxView& sandbox,
                                            const agent::ContainerView& container) {
  if (!is_probe(sandbox, container)) return;
  const base::MutexLock lock(mutex_);
  proof_.probe_requested();
}

void EnforcementKeeper::container_created(const agent::SandboxView& sandbox,
                                          const agent::ContainerView& container) {
  if (!is_probe(sandbox, container)) return;
  const base::MutexLock lock(mutex_);
  proof_.probe_created();
}

void EnforcementKeeper::own_pod_shown(const agent::PodView& pod) {
  if (own_pod_.uid.empty() || pod.uid != own_pod_.uid) return;
  const base::MutexLock lock(mutex_);
  for (const agent::PodContainerView& container : pod.containers) {
    if (container.name != kProbeContainer) continue;
    // The runtime's sentence names the plug-in; another cause of the same reason, such as a missing
    // image, does not.
    proof_.probe_shown(container.waiting_reason == "CreateContainerError" &&
                       container.waiting_message.find(kProbePlugin) != std::string::npos);
  }
}

EnforcementKeeper::State EnforcementKeeper::state() const {
  const base::MutexLock lock(mutex_);
  return {proof_.fails_closed(), proof_.is_settled(), connected_, proof_.explanation()};
}

}  // namespace snug::agent_service
