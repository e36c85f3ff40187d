// Keeps the proof that the container runtime fails closed (agent/enforcement_proof.hpp), fed by the
// runtime's calls, by the status of the agent's own pod and by whether snug-gate runs. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "snug/agent/container_view.hpp"
#include "snug/agent/enforcement_proof.hpp"
#include "snug/agent/pod_view.hpp"
#include "snug/agent/runtime_features.hpp"
#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"

namespace snug::agent_service {

/// The agent's own pod; `uid` is empty if it runs in none.
struct OwnPod {
  std::string name_space;
  std::string name;
  std::string uid;
};

class EnforcementKeeper {
 public:
  /// Whether snug-gate runs on the node; must not wait. Null: it never does.
  using GateRuns = std::function<bool()>;

  explicit EnforcementKeeper(OwnPod own_pod, GateRuns gate_runs = {})
      : own_pod_(std::move(own_pod)), gate_runs_(std::move(gate_runs)) {}

  /// The node's inventory says already that it fails closed, for this boot.
  void claimed() SNUG_EXCLUDES(mutex_);

  void runtime_connected(const agent::RuntimeFeatures& features) SNUG_EXCLUDES(mutex_);
  void runtime_disconnected() SNUG_EXCLUDES(mutex_);
  /// Looks whether the gate that the node relies on still runs. While the runtime restarts its gate
  /// ends a moment before the connection does, so the gate counts as lost after gate_lost_ms.
  void check_gate(base::TimePoint now) SNUG_EXCLUDES(mutex_);
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
  /// Opens a file: not under the lock.
  [[nodiscard]] bool has_gate() const SNUG_EXCLUDES(mutex_) { return gate_runs_ && gate_runs_(); }
  [[nodiscard]] bool relies_on_gate() const SNUG_EXCLUDES(mutex_);

  const OwnPod own_pod_;
  const GateRuns gate_runs_;
  mutable base::Mutex mutex_;
  agent::EnforcementProof proof_ SNUG_GUARDED_BY(mutex_);
  bool connected_ SNUG_GUARDED_BY(mutex_) = false;
  std::optional<base::TimePoint> gate_missed_ SNUG_GUARDED_BY(mutex_);  // since when
};

}  // namespace snug::agent_service
