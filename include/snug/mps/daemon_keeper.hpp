// Keeps the MPS daemon of one GPU running while it is wanted: a state machine without I/O. Its
// owner tells it what happened, calls next() until that returns kNone, and does what it returns.
//
// While the MPS server takes no new clients because of an error of a client, the daemon counts as
// failed. If this lasts for mps_fault_ms, the daemon is started anew, which ends its clients.
//
// Invariant: next() returns kStart only while the daemon has no process, so that there is never a
// second one. A daemon that fails is started anew, each time after twice the wait, up to
// mps_retry_last_ms. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "snug/base/clock.hpp"
#include "snug/base/enum_names.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::mps {

enum class DaemonAction : std::uint8_t {
  kNone,       // wait
  kStart,      // start a process; then call started() or start_failed()
  kAsk,        // ask the daemon something; then call answered()
  kQuit,       // ask the daemon to quit, in place of the question that may run
  kTerminate,  // send SIGTERM to its processes
  kKill,       // send SIGKILL to its processes
  kForget,     // there is no process, and none is wanted: remove what it left
};

inline constexpr base::EnumNames kDaemonActionNames{std::array{
    base::EnumName{DaemonAction::kNone, "none"}, base::EnumName{DaemonAction::kStart, "start"},
    base::EnumName{DaemonAction::kAsk, "ask"}, base::EnumName{DaemonAction::kQuit, "quit"},
    base::EnumName{DaemonAction::kTerminate, "terminate"},
    base::EnumName{DaemonAction::kKill, "kill"}, base::EnumName{DaemonAction::kForget, "forget"}}};

/// What a question to the daemon has shown.
enum class DaemonHealth : std::uint8_t {
  kSilent,   // it has not answered in time
  kAnswers,  // it answers; whether it takes new clients is not known, so it counts as before
  kHealthy,  // it takes new clients
  kFaulty,   // it answers, and its MPS server takes no new clients after an error of a client
};

class DaemonKeeper {
 public:
  /// `start_hint` follows the reason if a daemon fails before it has answered.
  explicit DaemonKeeper(std::string start_hint = {}) : start_hint_(std::move(start_hint)) {}

  /// There is a process: after kStart, or one that an earlier snug-mps has left.
  void started(base::TimePoint now);
  void start_failed(base::TimePoint now, std::string reason);
  /// The question of kAsk has been answered, or has not been in time.
  void answered(base::TimePoint now, DaemonHealth health);
  /// The process is gone. `how`: `exit status 1`.
  void ended(base::TimePoint now, std::string_view how);

  [[nodiscard]] DaemonAction next(base::TimePoint now, bool wanted);

  /// What clients may know. It is kReady only while the daemon answers and takes new clients.
  [[nodiscard]] const DaemonState& state() const { return state_; }
  [[nodiscard]] bool has_process() const { return step_ != Step::kAbsent; }
  /// How often it failed in all, for metrics.
  [[nodiscard]] std::int64_t failures() const { return failures_; }

 private:
  enum class Step : std::uint8_t {
    kAbsent,       // no process
    kStarting,     // it has not answered yet
    kServing,      // it has answered
    kQuitting,     // it was asked to quit
    kTerminating,  // it has got SIGTERM
    kKilling,      // it has got SIGKILL
  };

  DaemonAction watch(base::TimePoint now, bool wanted);
  DaemonAction end(base::TimePoint now);
  DaemonAction enter(Step step, base::TimePoint deadline, DaemonAction action);
  void fail(std::string reason);
  void schedule_start(base::TimePoint now);

  std::string start_hint_;
  Step step_ = Step::kAbsent;
  DaemonState state_;
  base::TimePoint deadline_{};  // of kQuitting, kTerminating and kKilling
  base::TimePoint heard_{};     // when it was started or answered last
  base::TimePoint serving_from_{};
  std::optional<base::TimePoint> faulty_from_;
  base::TimePoint next_question_{};
  base::TimePoint next_start_ = base::TimePoint::min();
  bool asking_ = false;
  bool has_failed_ = false;           // this process; so the next one has to wait
  std::int64_t failures_ = 0;         // in all
  std::int64_t failures_in_row_ = 0;  // since it served for mps_stable_ms
};

}  // namespace snug::mps
