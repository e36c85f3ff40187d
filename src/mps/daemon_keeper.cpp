#include "snug/mps/daemon_keeper.hpp"

#include <algorithm>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::mps {
namespace {

namespace limits = base::agent_limits;
using std::chrono::milliseconds;

constexpr std::string_view kFaultReason =
    "the MPS server is in the state FAULT after an error of a client; it takes new clients when "
    "all of its clients have ended";

std::string seconds(std::int64_t ms) { return std::to_string(ms / 1000) + " seconds"; }

/// The wait after this number of failures in a row.
milliseconds wait_after(std::int64_t failures) {
  std::int64_t wait = limits::mps_retry_first_ms;
  for (std::int64_t i = 1; i < failures && wait < limits::mps_retry_last_ms; ++i) wait *= 2;
  return milliseconds(std::min(wait, limits::mps_retry_last_ms));
}

}  // namespace

void DaemonKeeper::started(base::TimePoint now) {
  step_ = Step::kStarting;
  heard_ = now;
  next_question_ = now;
  asking_ = false;
  has_failed_ = false;
  faulty_from_.reset();
  // After a failure it stays failed until it answers.
  if (state_.phase != DaemonPhase::kFailed) state_ = {};
}

void DaemonKeeper::start_failed(base::TimePoint now, std::string reason) {
  fail(std::move(reason));
  schedule_start(now);
}

void DaemonKeeper::answered(base::TimePoint now, DaemonHealth health) {
  asking_ = false;
  const bool is_serving = step_ == Step::kServing;
  if (step_ != Step::kStarting && !is_serving) return;
  const bool is_silent = health == DaemonHealth::kSilent;
  next_question_ =
      now + milliseconds(is_silent && !is_serving ? limits::mps_poll_ms : limits::mps_check_ms);
  if (is_silent) return;
  heard_ = now;
  step_ = Step::kServing;
  if (health == DaemonHealth::kAnswers && faulty_from_) return;
  if (health == DaemonHealth::kFaulty) {
    if (!faulty_from_) faulty_from_ = now;
    state_ = {DaemonPhase::kFailed, std::string(kFaultReason)};
    return;
  }
  if (!is_serving || faulty_from_) serving_from_ = now;
  faulty_from_.reset();
  state_ = {DaemonPhase::kReady, ""};
}

void DaemonKeeper::ended(base::TimePoint now, std::string_view how) {
  if (step_ == Step::kStarting || step_ == Step::kServing)
    fail("the MPS daemon has ended: " + std::string(how));
  step_ = Step::kAbsent;
  asking_ = false;
  if (has_failed_) {
    schedule_start(now);
  } else {
    next_start_ = now;
  }
}

DaemonAction DaemonKeeper::next(base::TimePoint now, bool wanted) {
  switch (step_) {
    case Step::kAbsent:
      if (!wanted) return DaemonAction::kForget;
      return now < next_start_ ? DaemonAction::kNone : DaemonAction::kStart;
    case Step::kStarting:
    case Step::kServing:
      return watch(now, wanted);
    case Step::kQuitting:
    case Step::kTerminating:
    case Step::kKilling:
      return now < deadline_ ? DaemonAction::kNone : end(now);
  }
  return DaemonAction::kNone;
}

DaemonAction DaemonKeeper::watch(base::TimePoint now, bool wanted) {
  if (!wanted) {
    state_ = {};
    return enter(Step::kQuitting, now + milliseconds(limits::mps_quit_ms), DaemonAction::kQuit);
  }
  const bool is_serving = step_ == Step::kServing;
  const std::int64_t patience = is_serving ? limits::mps_silence_ms : limits::mps_start_ms;
  if (now - heard_ >= milliseconds(patience)) {
    fail("the MPS daemon has not answered for " + seconds(patience));
    return enter(Step::kTerminating, now + milliseconds(limits::mps_terminate_ms),
                 DaemonAction::kTerminate);
  }
  if (faulty_from_ && now - *faulty_from_ >= milliseconds(limits::mps_fault_ms)) {
    fail("the MPS server was in the state FAULT for " + seconds(limits::mps_fault_ms) +
         " after an error of a client, so the MPS daemon is restarted");
    return enter(Step::kQuitting, now + milliseconds(limits::mps_quit_ms), DaemonAction::kQuit);
  }
  if (is_serving && !faulty_from_ && now - serving_from_ >= milliseconds(limits::mps_stable_ms))
    failures_in_row_ = 0;
  if (asking_ || now < next_question_) return DaemonAction::kNone;
  asking_ = true;
  return DaemonAction::kAsk;
}

/// What follows when it has not ended in time.
DaemonAction DaemonKeeper::end(base::TimePoint now) {
  if (step_ == Step::kQuitting) {
    return enter(Step::kTerminating, now + milliseconds(limits::mps_terminate_ms),
                 DaemonAction::kTerminate);
  }
  // A process that waits for the driver ends only when the driver lets it.
  if (step_ == Step::kKilling)
    state_ = {DaemonPhase::kFailed, "the MPS daemon does not end, although it was killed"};
  return enter(Step::kKilling, now + milliseconds(limits::mps_kill_ms), DaemonAction::kKill);
}

DaemonAction DaemonKeeper::enter(Step step, base::TimePoint deadline, DaemonAction action) {
  step_ = step;
  deadline_ = deadline;
  asking_ = false;
  return action;
}

void DaemonKeeper::fail(std::string reason) {
  if (step_ == Step::kStarting) reason += start_hint_;
  state_ = {DaemonPhase::kFailed, std::move(reason)};
  has_failed_ = true;
  ++failures_;
  ++failures_in_row_;
}

void DaemonKeeper::schedule_start(base::TimePoint now) {
  next_start_ = now + wait_after(failures_in_row_);
}

}  // namespace snug::mps
