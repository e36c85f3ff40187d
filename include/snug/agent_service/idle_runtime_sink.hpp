// A RuntimeSink that changes and refuses nothing: for the plug-in `snug-probe`, which only has to
// be registered for the agent's proof of the node's enforcement, and as a base. Thread-safe.
#pragma once

#include <string_view>
#include <vector>

#include "snug/agent_service/ports.hpp"

namespace snug::agent_service {

class IdleRuntimeSink : public RuntimeSink {
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
  [[nodiscard]] base::Result<void> start_container(
      const agent::SandboxView& /*sandbox*/, const agent::ContainerView& /*container*/) override {
    return {};
  }
  void container_ended(std::string_view /*container_id*/) override {}
  void sandbox_stopped(const agent::SandboxView& /*sandbox*/) override {}
};

}  // namespace snug::agent_service
