// Permits bindings only while this Snug holds the Lease:
//   - After the Lease has ended, no binding is sent.
//   - A binding that was decided in an earlier term as leader is not sent.
//   - The Lease is not released while a binding may still be executed.
// Thread-safe.
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
  /// `unanswered_window`: how long an unanswered binding may still be executed after it was sent.
  /// At first, the fence is open without a deadline. If there is no election, it stays open.
  WriteFence(const base::Clock& clock, std::chrono::milliseconds unanswered_window);

  /// A term as leader. Each time the fence is opened after it was closed, the next term begins. A
  /// bind must read the term before it checks readiness.
  using Term = std::uint64_t;
  [[nodiscard]] Term term() const;

  /// Opens the fence: bindings may be sent until `deadline`. If the fence was closed, a new term
  /// begins.
  void open_until(base::TimePoint deadline);
  void close();

  /// Permission to send one binding. While a Pass exists, the Lease is not released. If the Pass is
  /// destroyed without a call of answered(), the Lease is kept for as long as the binding may still
  /// be executed.
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
  /// Returns a pass for a binding that was decided in `term`. Nullopt: the fence is closed, its
  /// deadline has passed, or a later term has begun.
  [[nodiscard]] std::optional<Pass> acquire(Term term);

  /// Whether no binding is in flight and no unanswered binding can still be executed.
  [[nodiscard]] bool has_nothing_in_flight() const;

 private:
  void end_binding(bool answered);

  const base::Clock& clock_;
  const std::chrono::milliseconds unanswered_window_;
  mutable base::Mutex mutex_;
  /// The time until which bindings may be sent; TimePoint::min(): the fence is closed.
  base::TimePoint until_ SNUG_GUARDED_BY(mutex_) = base::TimePoint::max();
  Term term_ SNUG_GUARDED_BY(mutex_) = 0;
  std::size_t in_flight_ SNUG_GUARDED_BY(mutex_) = 0;
  base::TimePoint quiet_after_ SNUG_GUARDED_BY(mutex_) = base::TimePoint::min();
};

}  // namespace snug::service
