// Keeps bindings inside the time of the Lease: none is sent after it, none is sent that was decided
// in an earlier term as leader, and the Lease is not given away while one may still be carried out.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include "snug/base/clock.hpp"

namespace snug {

class WriteFence {
 public:
  /// `unanswered`: how long after it was sent a binding that was not answered may be carried out.
  /// Open for ever until the first close(), as where there is no election.
  WriteFence(const Clock& clock, std::chrono::milliseconds unanswered);

  /// A number for each time that the fence opened anew. Take it before readiness is asked.
  using Term = std::uint64_t;
  [[nodiscard]] Term term() const;

  /// Bindings may be sent before `time`; where the fence was closed, a new term begins.
  void open_until(TimePoint time);
  void close();

  /// One binding's way out. Until it ends the Lease is not given away; where it was not answered(),
  /// nor for as long as it may be carried out yet.
  class Pass {
   public:
    Pass(WriteFence& fence, TimePoint not_after) : fence_(&fence), not_after_(not_after) {}
    ~Pass();
    Pass(Pass&& other) noexcept
        : fence_(std::exchange(other.fence_, nullptr)),
          not_after_(other.not_after_),
          answered_(other.answered_) {}
    Pass& operator=(Pass&&) = delete;

    [[nodiscard]] TimePoint not_after() const { return not_after_; }
    void answered() { answered_ = true; }

   private:
    WriteFence* fence_;
    TimePoint not_after_;
    bool answered_ = false;
  };
  /// For a binding that was decided in `term`; nothing: the fence is closed, or another term has
  /// begun.
  [[nodiscard]] std::optional<Pass> let_out(Term term);

  /// No binding is under way, and none that was not answered can still be carried out.
  [[nodiscard]] bool is_quiet() const;

 private:
  void end(bool answered);

  const Clock& clock_;
  const std::chrono::milliseconds unanswered_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  TimePoint until_ = TimePoint::max();  // min: closed
  Term term_ = 0;
  std::size_t under_way_ = 0;
  TimePoint quiet_from_ = TimePoint::min();
};

}  // namespace snug
