#include "snug/service/write_fence.hpp"

#include <algorithm>

namespace snug {

WriteFence::WriteFence(const Clock& clock, std::chrono::milliseconds unanswered)
    : clock_(clock), unanswered_(unanswered) {}

WriteFence::Term WriteFence::term() const {
  const MutexLock lock(mutex_);
  return term_;
}

void WriteFence::open_until(TimePoint time) {
  const MutexLock lock(mutex_);
  if (until_ == TimePoint::min()) ++term_;
  until_ = time;
}

void WriteFence::close() {
  const MutexLock lock(mutex_);
  until_ = TimePoint::min();
}

std::optional<WriteFence::Pass> WriteFence::let_out(Term term) {
  const MutexLock lock(mutex_);
  if (term != term_ || clock_.now() >= until_) return std::nullopt;
  ++under_way_;
  return Pass(*this, until_);
}

WriteFence::Pass::~Pass() {
  if (fence_ != nullptr) fence_->end(answered_);
}

void WriteFence::end(bool answered) {
  const MutexLock lock(mutex_);
  --under_way_;
  // It may have been sent just now.
  if (!answered) quiet_from_ = std::max(quiet_from_, clock_.now() + unanswered_);
}

bool WriteFence::is_quiet() const {
  const MutexLock lock(mutex_);
  return under_way_ == 0 && clock_.now() >= quiet_from_;
}

}  // namespace snug
