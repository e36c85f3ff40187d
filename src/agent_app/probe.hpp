// The container `probe` of the agent's pod, reached by ProbeLink, and the plug-in that it requires,
// registered with the container runtime. One thread at a time.
#pragma once

#include <memory>
#include <string>

#include "agent_app/probe_link.hpp"
#include "snug/adapters/nri/nri_plugin.hpp"
#include "snug/agent_service/idle_runtime_sink.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/service/ports.hpp"

namespace snug::agent_app {

class Probe final : public agent_service::ProbePort {
 public:
  /// `pod`: the uid of the agent's pod.
  Probe(const std::string& pod, std::string nri_socket, service::Log& log);

  /// Opens the link to the probe. Without it there is nothing to restart.
  [[nodiscard]] base::Result<void> start() { return link_.start(); }

  [[nodiscard]] base::Result<void> register_plugin() override;
  void withdraw_plugin() override { plugin_.reset(); }
  void restart_probe() override { link_.restart_probe(); }

 private:
  const std::string nri_socket_;
  service::Log& log_;
  agent_service::IdleRuntimeSink idle_;
  std::unique_ptr<nri::NriPlugin> plugin_;  // null: not registered
  ProbeLink link_;
};

}  // namespace snug::agent_app
