#include "snug/agent_service/probe_steering.hpp"

#include <string>

namespace snug::agent_service {

void ProbeSteering::log_changes(const EnforcementKeeper::State& state) {
  if (state.is_settled == was_settled_ && state.is_connected == was_connected_ &&
      state.fails_closed == was_closed_) {
    return;
  }
  was_closed_ = state.fails_closed;
  was_settled_ = state.is_settled;
  was_connected_ = state.is_connected;
  parts_.log.write(service::LogLevel::kInfo,
                   std::string(state.fails_closed ? "the node fails closed: "
                                                  : "the node does not fail closed: ") +
                       state.explanation);
}

void ProbeSteering::tick() {
  const OwnPod& own = parts_.enforcement.own_pod();
  if (own.uid.empty()) return;
  if (const auto pod = parts_.pods.lookup(own.uid, own.name_space, own.name)) {
    parts_.enforcement.own_pod_shown(*pod);
  }
  const auto state = parts_.enforcement.state();
  log_changes(state);
  if (!state.is_connected || !state.is_settled) {
    // A probe that was created before proves nothing; it is to be created again, without the
    // plug-in that it requires.
    parts_.probe.withdraw_plugin();
    parts_.probe.restart_probe();
    is_registered_ = false;
    parts_.enforcement.probe_withdrawn();
  } else if (!is_registered_) {
    const auto registered = parts_.probe.register_plugin();
    is_registered_ = registered.has_value();
    if (!registered) parts_.log.write(service::LogLevel::kError, registered.error().message);
  }
  parts_.metrics.fails_closed(state.fails_closed);
}

}  // namespace snug::agent_service
