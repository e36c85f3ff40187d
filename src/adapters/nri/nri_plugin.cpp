#include "snug/adapters/nri/nri_plugin.hpp"

#include <pthread.h>

#include <chrono>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "adapters/nri/runtime_session.hpp"
#include "adapters/nri/runtime_socket.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::nri {

struct NriPlugin::State {
  NriOptions options;
  agent_service::RuntimeSink& sink;
  service::Log& log;
  StopSignal stop{};
  std::thread thread{};
  std::string
      logged_reason{};  // why there is no connection; empty: there is one, or none was tried

  void run();
  /// Serves one connection until it ends, and returns why it ended.
  [[nodiscard]] base::Error serve();
  [[nodiscard]] base::Result<void> exchange(const RuntimeSocket& socket, RuntimeSession& session);
  void log_connected(const RuntimeSession& session);
  void log_not_connected(const std::string& reason);
};

void NriPlugin::State::run() {
  constexpr std::chrono::milliseconds kRetry{base::agent_limits::nri_retry_ms};
  while (!stop.is_raised()) {
    const base::Error ended = serve();
    if (stop.is_raised()) return;
    log_not_connected(ended.message);
    if (stop.wait_for(kRetry)) return;
  }
}

base::Error NriPlugin::State::serve() {
  const auto socket = RuntimeSocket::connect(options.socket_path);
  if (!socket) return socket.error();
  RuntimeSession session({.name = options.name, .index = options.index}, sink);
  const auto registration = session.registration();
  if (!registration) return registration.error();
  auto served = socket->write(*registration, stop);
  while (served) served = exchange(*socket, session);
  return served.error();
}

base::Result<void> NriPlugin::State::exchange(const RuntimeSocket& socket,
                                              RuntimeSession& session) {
  std::string bytes;
  if (auto read = socket.read(bytes, stop); !read) return read;
  const bool was_synchronized = session.is_synchronized();
  const auto answer = session.receive(bytes);
  if (!answer) return std::unexpected(answer.error());
  if (auto written = socket.write(*answer, stop); !written) return written;
  if (session.is_synchronized() && !was_synchronized) log_connected(session);
  return {};
}

void NriPlugin::State::log_connected(const RuntimeSession& session) {
  logged_reason.clear();
  log.write(service::LogLevel::kInfo, "registered with the container runtime",
            {{"plugin", std::string_view(options.name)},
             {"runtime", std::string_view(session.runtime().name)},
             {"version", std::string_view(session.runtime().version)}});
}

void NriPlugin::State::log_not_connected(const std::string& reason) {
  if (reason == logged_reason) return;
  logged_reason = reason;
  log.write(service::LogLevel::kWarn, "not registered with the container runtime",
            {{"plugin", std::string_view(options.name)},
             {"socket", std::string_view(options.socket_path)},
             {"reason", std::string_view(reason)}});
}

NriPlugin::NriPlugin(NriOptions options, agent_service::RuntimeSink& sink, service::Log& log)
    : state_(std::make_unique<State>(State{std::move(options), sink, log})) {}

NriPlugin::~NriPlugin() { stop(); }

base::Result<void> NriPlugin::start() {
  if (!state_->stop.usable()) {
    return base::fail(base::ErrorCode::kInternal, "NRI: the system refuses a file descriptor");
  }
  try {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
  } catch (const std::system_error& error) {
    return base::fail(base::ErrorCode::kInternal,
                      std::string("NRI: the system refuses a thread: ") + error.what());
  }
  pthread_setname_np(state_->thread.native_handle(), "snug-nri");
  return {};
}

void NriPlugin::stop() {
  state_->stop.raise();
  if (state_->thread.joinable()) state_->thread.join();
}

}  // namespace snug::nri
