#include "snug/agent_service/enforcement.hpp"

#include <chrono>

#include "snug/agent/required_plugins.hpp"
#include "snug/agent/waiting_pods.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::agent_service {

bool EnforcementKeeper::is_probe(const agent::SandboxView& sandbox,
                                 const agent::ContainerView& container) const {
  return !own_pod_.uid.empty() && sandbox.uid == own_pod_.uid &&
         container.name == agent::kProbeContainer;
}

void EnforcementKeeper::claimed() {
  const base::MutexLock lock(mutex_);
  proof_.claimed();
}

void EnforcementKeeper::runtime_connected(const agent::RuntimeFeatures& features) {
  // The runtime starts its gate before it accepts connections. Without CDI devices from plug-ins
  // the agent gives containers nothing, so it does not matter whether they are refused without it.
  const bool gate = features.cdi_injection && has_gate();
  const base::MutexLock lock(mutex_);
  connected_ = true;
  gate_missed_.reset();
  proof_.runtime_connected({.validator = features.validation, .gate = gate});
}

void EnforcementKeeper::check_gate(base::TimePoint now) {
  constexpr std::chrono::milliseconds kLost{base::agent_limits::gate_lost_ms};
  const bool is_missed = relies_on_gate() && !has_gate();
  const base::MutexLock lock(mutex_);
  if (!is_missed || !connected_ || !proof_.relies_on_gate()) {
    gate_missed_.reset();
    return;
  }
  if (!gate_missed_) gate_missed_ = now;
  if (now - *gate_missed_ >= kLost) proof_.gate_lost();
}

bool EnforcementKeeper::relies_on_gate() const {
  const base::MutexLock lock(mutex_);
  return connected_ && proof_.relies_on_gate();
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
    if (container.name != agent::kProbeContainer) continue;
    proof_.probe_shown(agent::lacks_plugin(container, agent::kProbePlugin));
  }
}

EnforcementKeeper::State EnforcementKeeper::state() const {
  const base::MutexLock lock(mutex_);
  return {proof_.fails_closed(), proof_.is_settled(), connected_, proof_.explanation()};
}

}  // namespace snug::agent_service
