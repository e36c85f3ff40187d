// Leads the proof that the runtime fails closed (agent/enforcement_proof.hpp): withdraws the
// plug-in that the container `probe` requires and ends a probe that runs, until the proof is
// settled on this connection to the runtime; then registers the plug-in, so that the probe runs.
// One thread at a time.
#pragma once

#include "snug/agent_service/agent_metrics.hpp"
#include "snug/agent_service/enforcement.hpp"
#include "snug/agent_service/pod_book.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_service {

class ProbeSteering {
 public:
  struct Parts {
    EnforcementKeeper& enforcement;
    const PodBook& pods;
    ProbePort& probe;
    AgentMetrics& metrics;
    service::Log& log;
  };

  explicit ProbeSteering(const Parts& parts) : parts_(parts) {}

  /// Does nothing if the agent runs in no pod.
  void tick();

 private:
  void log_changes(const EnforcementKeeper::State& state);

  const Parts parts_;
  bool was_closed_ = false;
  bool was_settled_ = false;
  bool was_connected_ = false;
  bool is_registered_ = false;
};

}  // namespace snug::agent_service
