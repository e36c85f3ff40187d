// Keeps the proof that the container runtime fails closed (agent/enforcement_proof.hpp), fed by the
// runtime's calls and by the status of the agent's own pod. Thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "snug/agent/container_view.hpp"
#include "snug/agent/enforcement_proof.hpp"
#include "snug/agent/pod_view.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

/// The container of the agent's pod that requires the plug-in kProbePlugin.
inline constexpr std::string_view kProbeContainer = "probe";
inline constexpr std::string_view kProbePlugin = "snug-probe";

/// The agent's own pod; `uid` is empty if it runs in none.
struct OwnPod {
  std::string name_space;
  std::string name;
  std::string uid;
};

class EnforcementKeeper {
 public:
  explicit EnforcementKeeper(OwnPod own_pod) : own_pod_(std::move(own_pod)) {}

  /// The node's inventory says already that it fails closed, for this boot.
  void claimed() SNUG_EXCLUDES(mutex_);

  void runtime_connected(bool validates) SNUG_EXCLUDES(mutex_);
  void runtime_disconnected() SNUG_EXCLUDES(mutex_);
  void probe_withdrawn() SNUG_EXCLUDES(mutex_);
  void container_requested(const agent::SandboxView& sandbox, const agent::ContainerView& container)
      SNUG_EXCLUDES(mutex_);
  void container_created(const agent::SandboxView& sandbox, const agent::ContainerView& container)
      SNUG_EXCLUDES(mutex_);
  void own_pod_shown(const agent::PodView& pod) SNUG_EXCLUDES(mutex_);

  struct State {
    bool fails_closed = false;
    bool is_settled = false;
    bool is_connected = false;
    std::string explanation;
  };
  [[nodiscard]] State state() const SNUG_EXCLUDES(mutex_);
  [[nodiscard]] const OwnPod& own_pod() const { return own_pod_; }

 private:
  [[nodiscard]] bool is_probe(const agent::SandboxView& sandbox,
                              const agent::ContainerView& container) const;

  const OwnPod own_pod_;
  mutable base::Mutex mutex_;
  agent::EnforcementProof proof_ SNUG_GUARDED_BY(mutex_);
  bool connected_ SNUG_GUARDED_BY(mutex_) = false;
};

}  // namespace snug::agent_service
