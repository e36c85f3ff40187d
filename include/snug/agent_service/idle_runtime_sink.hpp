// A RuntimeSink that changes and refuses nothing, for a plug-in that only has to be registered:
// `snug-probe`, which the agent's proof of the node's enforcement needs. Thread-safe.
#pragma once

#include <vector>

#include "snug/agent_service/ports.hpp"

namespace snug::agent_service {

class IdleRuntimeSink final : public RuntimeSink {
 public:
  bool connected(const RuntimeView& /*runtime*/) override { return false; }
  void disconnected() override {}
  void synchronized(const std::vector<agent::SandboxView>& /*sandboxes*/,
                    const std::vector<agent::ContainerView>& /*containers*/) override {}
  [[nodiscard]] base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& /*sandbox*/, const agent::ContainerView& /*container*/) override {
    return agent::Adjustment{};
  }
  [[nodiscard]] base::Result<void> validate_container(
      const ProposedContainer& /*proposed*/) override {
    return {};
  }
  void container_created(const agent::SandboxView& /*sandbox*/,
                         const agent::ContainerView& /*container*/) override {}
  void sandbox_stopped(const agent::SandboxView& /*sandbox*/) override {}
};

}  // namespace snug::agent_service
