#include "snug/service/write_fence.hpp"

#include <algorithm>

namespace snug::service {

WriteFence::WriteFence(const base::Clock& clock, std::chrono::milliseconds unanswered_window)
    : clock_(clock), unanswered_window_(unanswered_window) {}

WriteFence::Term WriteFence::term() const {
  const base::MutexLock lock(mutex_);
  return term_;
}

void WriteFence::open_until(base::TimePoint deadline) {
  const base::MutexLock lock(mutex_);
  if (until_ == base::TimePoint::min()) ++term_;
  until_ = deadline;
}

void WriteFence::close() {
  const base::MutexLock lock(mutex_);
  until_ = base::TimePoint::min();
}

std::optional<WriteFence::Pass> WriteFence::acquire(Term term) {
  const base::MutexLock lock(mutex_);
  if (term != term_ || clock_.now() >= until_) return std::nullopt;
  ++in_flight_;
  return Pass(*this, until_);
}

WriteFence::Pass::~Pass() {
  if (fence_ != nullptr) fence_->end_binding(answered_);
}

void WriteFence::end_binding(bool answered) {
  const base::MutexLock lock(mutex_);
  --in_flight_;
  // The window starts now, since the binding may have been sent just before this call.
  if (!answered) quiet_after_ = std::max(quiet_after_, clock_.now() + unanswered_window_);
}

bool WriteFence::has_nothing_in_flight() const {
  const base::MutexLock lock(mutex_);
  return in_flight_ == 0 && clock_.now() >= quiet_after_;
}

}  // namespace snug::service
