#include "snug/adapters/nri/runtime_gate.hpp"

#include <vector>

#include "adapters/nri/runtime_session.hpp"
#include "adapters/nri/runtime_socket.hpp"
#include "snug/agent/required_plugins.hpp"
#include "snug/agent_service/idle_runtime_sink.hpp"

namespace snug::nri {
namespace {

class GateSink final : public agent_service::IdleRuntimeSink {
 public:
  explicit GateSink(const std::function<void()>& on_ready) : on_ready_(on_ready) {}

  void synchronized(const std::vector<agent::SandboxView>& /*sandboxes*/,
                    const std::vector<agent::ContainerView>& /*containers*/) override {
    on_ready_();
  }
  [[nodiscard]] base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) override {
    auto refusal = agent::gate_refusal(sandbox, container);
    if (!refusal) return agent::Adjustment{};
    return base::fail(base::ErrorCode::kUnavailable, *std::move(refusal));
  }

 private:
  const std::function<void()>& on_ready_;
};

}  // namespace

base::Error serve_gate(const GateOptions& options) {
  const auto socket = RuntimeSocket::adopt(options.socket);
  const StopSignal never_raised;
  GateSink sink(options.on_ready);
  RuntimeSession session({.name = options.name,
                          .index = options.index,
                          .events = {agent_codec::NriEvent::kCreateContainer}},
                         sink);
  base::Result<std::string> answer = session.registration();
  std::string bytes;
  while (answer) {
    auto passed = socket.write(*answer, never_raised);
    if (passed) passed = socket.read(bytes, never_raised);
    if (!passed) return passed.error();
    answer = session.receive(bytes);
  }
  return answer.error();
}

}  // namespace snug::nri
