#include "ctl/delayed_signals.hpp"

#include <ctime>

namespace snug::ctl {
namespace {

constexpr int kDelayedSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// Signals that are ignored, as SIGHUP under nohup, do not stay pending.
bool is_ignored(int signal_number) {
  struct sigaction action = {};
  ::sigaction(signal_number, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

DelayedSignals::DelayedSignals() {
  ::sigemptyset(&delayed_);
  for (const int signal_number : kDelayedSignals) {
    if (!is_ignored(signal_number)) ::sigaddset(&delayed_, signal_number);
  }
  ::sigprocmask(SIG_BLOCK, &delayed_, &before_);
}

DelayedSignals::~DelayedSignals() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  if (taken_ != 0) ::raise(taken_);
}

void DelayedSignals::wait(std::chrono::milliseconds time) {
  if (has_come()) return;
  const std::timespec limit{.tv_sec = time.count() / 1'000,
                            .tv_nsec = time.count() % 1'000 * 1'000'000};
  const int signal_number = ::sigtimedwait(&delayed_, nullptr, &limit);
  if (signal_number > 0) taken_ = signal_number;
}

bool DelayedSignals::has_come() const {
  sigset_t pending;
  ::sigemptyset(&pending);
  ::sigpending(&pending);
  for (const int signal_number : kDelayedSignals) {
    if (::sigismember(&delayed_, signal_number) == 1 && ::sigismember(&pending, signal_number) == 1)
      return true;
  }
  return taken_ != 0;
}

}  // namespace snug::ctl
