// A plug-in of the container runtime's Node Resource Interface. A thread of its own connects to the
// socket of the runtime, registers the plug-in and passes the runtime's calls to a sink. It
// connects again nri_retry_ms after the connection has ended or could not be made. The log has a
// line when the plug-in has registered, and one when it has lost its connection or the reason why
// it has none has changed.
//
// Errors of the sink become errors of the call, so that the runtime refuses the container. The
// runtime disconnects a plug-in that does not answer within its time-out, of 2 s by default.
#pragma once

#include <memory>
#include <string>

#include "snug/agent_service/ports.hpp"
#include "snug/base/result.hpp"
#include "snug/service/ports.hpp"

namespace snug::nri {

struct NriOptions {
  std::string socket_path = "/var/run/nri/nri.sock";
  std::string name = "snug";  // letters, digits and ._+-
  std::string index = "10";   // two digits; the runtime calls plug-ins in ascending order
};

class NriPlugin {
 public:
  /// `sink` and `log` must outlive the plug-in. The sink is called from the plug-in's thread.
  NriPlugin(NriOptions options, agent_service::RuntimeSink& sink, service::Log& log);
  /// Stops the plug-in.
  ~NriPlugin();
  NriPlugin(const NriPlugin&) = delete;
  NriPlugin& operator=(const NriPlugin&) = delete;

  /// May be called once. kInternal: the system refuses a thread or a file descriptor.
  [[nodiscard]] base::Result<void> start();
  /// Ends the connection and the thread without delay, or after the current call of the sink. May
  /// be called repeatedly, but not by the sink and not by two threads at once.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace snug::nri
