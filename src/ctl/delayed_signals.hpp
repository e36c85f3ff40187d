// Delays the signals that end a program (SIGINT, SIGTERM, SIGHUP, SIGQUIT) until the program has
// tidied up: they are blocked while the object exists. When it is destroyed, one that has come ends
// the program. Programs that are started meanwhile are not affected. One object at a time.
#pragma once

#include <chrono>
#include <csignal>

namespace snug::ctl {

class DelayedSignals {
 public:
  DelayedSignals();
  ~DelayedSignals();
  DelayedSignals(const DelayedSignals&) = delete;
  DelayedSignals& operator=(const DelayedSignals&) = delete;

  /// Waits for this time; returns at once if a signal has come.
  void wait(std::chrono::milliseconds time);
  [[nodiscard]] bool has_come() const;

 private:
  sigset_t delayed_{};
  sigset_t before_{};
  int taken_ = 0;  // the signal that wait() has taken
};

}  // namespace snug::ctl
