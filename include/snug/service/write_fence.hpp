// Keeps bindings inside the time of the Lease: none is sent after the Lease ends, none is sent that
// was decided in an earlier term as leader, and the Lease is not released while one may still be
// carried out. Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"

namespace snug::service {

class WriteFence {
 public:
  /// `unanswered`: how long after it was sent a binding without an answer may still be carried out.
  /// Open without end until the first close(), as without an election.
  WriteFence(const base::Clock& clock, std::chrono::milliseconds unanswered);

  /// Counts how often the fence was reopened. Read it before readiness is checked.
  using Term = std::uint64_t;
  [[nodiscard]] Term term() const;

  /// Bindings may be sent before `time`; a new term begins if the fence was closed.
  void open_until(base::TimePoint time);
  void close();

  /// Permission to send one binding. The Lease is not released while it exists and, unless
  /// answered() was called, as long after that as the binding may still be carried out.
  class Pass {
   public:
    Pass(WriteFence& fence, base::TimePoint not_after) : fence_(&fence), not_after_(not_after) {}
    ~Pass();
    Pass(Pass&& other) noexcept
        : fence_(std::exchange(other.fence_, nullptr)),
          not_after_(other.not_after_),
          answered_(other.answered_) {}
    Pass& operator=(Pass&&) = delete;

    [[nodiscard]] base::TimePoint not_after() const { return not_after_; }
    void answered() { answered_ = true; }

   private:
    WriteFence* fence_;
    base::TimePoint not_after_;
    bool answered_ = false;
  };
  /// For a binding that was decided in `term`; nothing: the fence is closed, or a later term has
  /// begun.
  [[nodiscard]] std::optional<Pass> acquire(Term term);

  /// No binding is under way, and none without an answer can still be carried out.
  [[nodiscard]] bool has_nothing_in_flight() const;

 private:
  void end(bool answered);

  const base::Clock& clock_;
  const std::chrono::milliseconds unanswered_window_;
  mutable base::Mutex mutex_;
  base::TimePoint until_ SNUG_GUARDED_BY(mutex_) = base::TimePoint::max();  // min: closed
  Term term_ SNUG_GUARDED_BY(mutex_) = 0;
  std::size_t in_flight_ SNUG_GUARDED_BY(mutex_) = 0;
  base::TimePoint quiet_after_ SNUG_GUARDED_BY(mutex_) = base::TimePoint::min();
};

}  // namespace snug::service
