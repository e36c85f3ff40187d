// Exponential back-off with jitter. After backoff_reset_ms without a failure, it begins with the
// first step again. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"

namespace snug::kube {

class Backoff {
 public:
  Backoff(const base::Limits& limits, std::uint64_t jitter_seed);

  /// Returns how long to wait after a failure at `now`: the current step times a random factor from
  /// 1 to 2. Then doubles the step, up to backoff_last_ms.
  [[nodiscard]] std::chrono::milliseconds next(base::TimePoint now);

 private:
  const std::chrono::milliseconds first_step_;
  const std::chrono::milliseconds longest_step_;
  const std::chrono::milliseconds reset_after_;
  std::chrono::milliseconds current_step_;
  base::TimePoint last_wait_end_{};
  std::mt19937_64 jitter_random_;
};

}  // namespace snug::kube
