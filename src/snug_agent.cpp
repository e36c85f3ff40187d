// The main function of snug-agent: reads the options, starts the agent, and ends it on SIGTERM or
// SIGINT. With --probe, it only waits for the agent of its pod to end.
#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "agent_app/agent.hpp"
#include "agent_app/probe_link.hpp"
#include "snug/config/agent_options.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadConfiguration = 2;

/// Configures the allocator for little memory: the agent allocates little, and never in a hurry.
void save_memory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 64 << 10);
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
}

/// Must be called before any thread starts, so that every thread inherits the mask.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

int fail(const snug::base::Error& error) {
  std::fprintf(stderr, "snug-agent: %s\n", error.message.c_str());
  return error.code == snug::base::ErrorCode::kInvalid ? kBadConfiguration : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  save_memory();
  auto options = snug::config::read_agent_options(argc, argv);
  if (!options) return fail(options.error());
  if (!options->print_and_exit.empty()) {
    std::fputs(options->print_and_exit.c_str(), stdout);
    return kDone;
  }
  if (options->is_probe) {
    // As the first process of its container it has no default actions for signals.
    std::signal(SIGTERM, [](int) { std::_Exit(kDone); });
    const char* pod = std::getenv("POD_UID");
    snug::agent_app::wait_as_probe(pod == nullptr ? "" : pod);
    return kDone;
  }
  const sigset_t signals = block_signals();
  snug::agent_app::Agent agent(*std::move(options));
  if (const auto started = agent.start(); !started) return fail(started.error());
  std::puts(agent.listening_line().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  agent.stop();
  return kDone;
}
