// The main function of snug-extender: reads the options, starts the extender, waits for SIGTERM or
// SIGINT, and drains. With removeMirrors, ends as soon as its work is done.
#include <malloc.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "app/extender.hpp"
#include "snug/config/options.hpp"
#include "snug/config/signals.hpp"

namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadConfiguration = 2;

/// Configures the allocator to keep freed memory instead of returning it to the kernel, because
/// large request bodies arrive one after another.
void keep_memory() {
  mallopt(M_MMAP_THRESHOLD, 64 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

/// Waits for SIGTERM or SIGINT. Reloads the policy on each SIGHUP.
void wait_for_end(const sigset_t& signals, snug::app::Extender& extender) {
  int signal = SIGHUP;
  while (sigwait(&signals, &signal) == 0 && signal == SIGHUP) extender.reload_policy();
}

/// Waits until the resources that mirror shares are removed. False: SIGTERM or SIGINT came before.
bool wait_for_removal(const sigset_t& signals, const snug::app::Extender& extender) {
  constexpr timespec kPollInterval{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (!extender.mirrors_are_removed()) {
    const int signal = sigtimedwait(&signals, nullptr, &kPollInterval);
    if (signal == SIGTERM || signal == SIGINT) return false;
  }
  return true;
}

int exit_code(const snug::base::Error& error) {
  const bool wrong = error.code == snug::base::ErrorCode::kInvalid ||
                     error.code == snug::base::ErrorCode::kTooLarge;
  return wrong ? kBadConfiguration : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  const sigset_t signals = snug::config::block_signals({SIGTERM, SIGINT, SIGHUP});
  auto options = snug::config::read_options(argc, argv);
  if (!options) {
    std::fprintf(stderr, "snug-extender: %s\n", options.error().message.c_str());
    return kBadConfiguration;
  }
  if (!options->print_and_exit.empty()) {
    std::fputs(options->print_and_exit.c_str(), stdout);
    return kDone;
  }
  const bool removes_mirrors = options->remove_mirrors;
  snug::app::Extender extender(*std::move(options));
  if (const auto started = extender.start(); !started) {
    std::fprintf(stderr, "snug-extender: %s\n", started.error().message.c_str());
    return exit_code(started.error());
  }
  if (removes_mirrors) {
    const bool removed = wait_for_removal(signals, extender);
    extender.stop();
    return removed ? kDone : kFailed;
  }
  std::puts(extender.listening_line().c_str());
  std::fflush(stdout);
  wait_for_end(signals, extender);
  extender.stop();
  return kDone;
}
