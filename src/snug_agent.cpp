// The main function of snug-agent: reads the options, starts the agent, and ends it on SIGTERM or
// SIGINT. With --probe, it only waits for the agent of its pod to end.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "agent_app/agent.hpp"
#include "agent_app/memory.hpp"
#include "agent_app/probe_link.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/config/agent_options.hpp"
#include "snug/config/signals.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadConfiguration = 2;

/// Returns when one of the signals comes.
void run_until(const sigset_t& signals) {
  constexpr timespec kPeriod{.tv_sec = snug::base::agent_limits::heap_trim_s, .tv_nsec = 0};
  while (sigtimedwait(&signals, nullptr, &kPeriod) < 0) snug::agent_app::return_free_memory();
}

int fail(const snug::base::Error& error) {
  std::fprintf(stderr, "snug-agent: %s\n", error.message.c_str());
  return error.code == snug::base::ErrorCode::kInvalid ? kBadConfiguration : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  snug::agent_app::configure_allocator();
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
  const sigset_t signals = snug::config::block_signals({SIGTERM, SIGINT});
  const snug::agent_app::StartPages start_pages;
  snug::agent_app::Agent agent(*std::move(options));
  if (const auto started = agent.start(); !started) return fail(started.error());
  std::puts(agent.listening_line().c_str());
  std::fflush(stdout);
  start_pages.unmap();
  run_until(signals);
  agent.stop();
  return kDone;
}
