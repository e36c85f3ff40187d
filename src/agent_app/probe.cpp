#include "agent_app/probe.hpp"

#include <utility>

#include "snug/agent/required_plugins.hpp"

namespace snug::agent_app {

Probe::Probe(const std::string& pod, std::string nri_socket, service::Log& log)
    : nri_socket_(std::move(nri_socket)), log_(log), link_(pod) {}

base::Result<void> Probe::register_plugin() {
  plugin_ = std::make_unique<nri::NriPlugin>(
      nri::NriOptions{
          .socket_path = nri_socket_, .name = std::string(agent::kProbePlugin), .index = "11"},
      idle_, log_);
  auto started = plugin_->start();
  if (!started) plugin_.reset();
  return started;
}

}  // namespace snug::agent_app
