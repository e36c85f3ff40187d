#include "adapters/kube/backoff.hpp"

#include <algorithm>

namespace snug::kube {

Backoff::Backoff(const base::Limits& limits, std::uint64_t seed)
    : first_(limits.backoff_first_ms),
      last_(std::max(limits.backoff_first_ms, limits.backoff_last_ms)),
      reset_(limits.backoff_reset_ms),
      step_(first_),
      random_(seed) {}

std::chrono::milliseconds Backoff::next(base::TimePoint now) {
  if (now - last_wait_end_ >= reset_) step_ = first_;
  const std::chrono::milliseconds jitter(
      std::uniform_int_distribution<std::int64_t>(0, step_.count())(random_));
  const auto wait = step_ + jitter;
  step_ = std::min(step_ * 2, last_);
  last_wait_end_ = now + wait;
  return wait;
}

}  // namespace snug::kube
