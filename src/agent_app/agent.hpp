// The agent: builds its parts, starts them, and stops them in reverse order.
#pragma once

#include <memory>
#include <string>

#include "snug/base/result.hpp"
#include "snug/config/agent_options.hpp"

namespace snug::agent_app {

class Agent {
 public:
  explicit Agent(config::AgentOptions options);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  [[nodiscard]] base::Result<void> start();
  /// `listening admin=HOST:PORT`, after start().
  [[nodiscard]] std::string listening_line() const;
  void stop();

 private:
  struct Parts;

  [[nodiscard]] base::Result<void> open_kubernetes();
  [[nodiscard]] base::Result<void> serve();
  /// Waits for the port: where a label moves a node to another DaemonSet of agents, the two
  /// overlap.
  [[nodiscard]] base::Result<void> listen();
  void tick();
  [[nodiscard]] base::Result<void> make_keepers();
  /// Why the agent cannot answer the container runtime with all that it needs to know; empty: it
  /// can.
  [[nodiscard]] std::string why_not_answering() const;
  [[nodiscard]] std::string why_not_ready() const;

  const config::AgentOptions options_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace snug::agent_app
