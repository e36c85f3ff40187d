// One connection to the container runtime, without its socket: answers the runtime's calls by a
// sink. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/agent_codec/nri_messages.hpp"
#include "snug/agent_codec/nri_wire.hpp"
#include "snug/agent_service/ports.hpp"
#include "snug/base/result.hpp"

namespace snug::nri {

class RuntimeSession {
 public:
  struct Options {
    std::string name;   // of the plug-in
    std::string index;  // two digits
    /// What the plug-in subscribes to, besides validations if the sink wants them.
    std::vector<agent_codec::NriEvent> events{
        agent_codec::NriEvent::kCreateContainer, agent_codec::NriEvent::kPostCreateContainer,
        agent_codec::NriEvent::kStartContainer,  agent_codec::NriEvent::kStopContainer,
        agent_codec::NriEvent::kRemoveContainer, agent_codec::NriEvent::kStopPodSandbox};
  };

  RuntimeSession(Options options, agent_service::RuntimeSink& sink)
      : options_(std::move(options)), sink_(sink) {}
  /// Calls disconnected() of the sink, if connected() was called.
  ~RuntimeSession();
  RuntimeSession(const RuntimeSession&) = delete;
  RuntimeSession& operator=(const RuntimeSession&) = delete;

  /// Returns the bytes that register the plug-in.
  [[nodiscard]] base::Result<std::string> registration() const;
  /// Takes bytes from the runtime, and returns the bytes to send to it. After an error the
  /// connection must be closed.
  [[nodiscard]] base::Result<std::string> receive(std::string_view bytes);
  /// Whether the runtime has told all that it has, and so will call the plug-in from now on.
  [[nodiscard]] bool is_synchronized() const { return synchronized_; }
  [[nodiscard]] const agent_service::RuntimeView& runtime() const { return runtime_; }

 private:
  /// A call of the runtime; handle() returns the bytes of the response.
  struct Method {
    std::string_view name;
    std::string (RuntimeSession::*handle)(std::string_view payload);
  };
  static const Method* find_method(std::string_view name);

  [[nodiscard]] std::string answer(std::string_view request_bytes);
  std::string configure(std::string_view payload);
  std::string synchronize(std::string_view payload);
  std::string create_container(std::string_view payload);
  std::string validate_container(std::string_view payload);
  std::string container_created(std::string_view payload);
  std::string start_container(std::string_view payload);
  std::string container_ended(std::string_view payload);
  std::string sandbox_stopped(std::string_view payload);
  std::string state_change(std::string_view payload);
  std::string acknowledge(std::string_view payload);

  const Options options_;
  agent_service::RuntimeSink& sink_;
  agent_codec::NriDecoder decoder_;
  agent_service::RuntimeView runtime_;
  bool configured_ = false;
  bool synchronized_ = false;
  std::vector<agent::SandboxView> sandboxes_;  // of the parts of Synchronize that have come so far
  std::vector<agent::ContainerView> containers_;
};

}  // namespace snug::nri
