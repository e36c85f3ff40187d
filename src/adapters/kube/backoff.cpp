#include "adapters/kube/backoff.hpp"

#include <algorithm>

namespace snug::kube {

Backoff::Backoff(const base::Limits& limits, std::uint64_t jitter_seed)
    : first_step_(limits.backoff_first_ms),
      longest_step_(std::max(limits.backoff_first_ms, limits.backoff_last_ms)),
      reset_after_(limits.backoff_reset_ms),
      current_step_(first_step_),
      jitter_random_(jitter_seed) {}

std::chrono::milliseconds Backoff::next(base::TimePoint now) {
  if (now - last_wait_end_ >= reset_after_) current_step_ = first_step_;
  const std::chrono::milliseconds jitter(
      std::uniform_int_distribution<std::int64_t>(0, current_step_.count())(jitter_random_));
  const auto retry_wait = current_step_ + jitter;
  current_step_ = std::min(current_step_ * 2, longest_step_);
  last_wait_end_ = now + retry_wait;
  return retry_wait;
}

}  // namespace snug::kube
