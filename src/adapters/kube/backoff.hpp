// Exponential back-off with jitter, reset after backoffResetMs without a failure. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include "snug/base/clock.hpp"
#include "snug/base/limits.hpp"

namespace snug::kube {

class Backoff {
 public:
  Backoff(const base::Limits& limits, std::uint64_t seed);

  /// The wait after a failure now: the step times a random 1..2. The next step is twice as long.
  [[nodiscard]] std::chrono::milliseconds next(base::TimePoint now);

 private:
  const std::chrono::milliseconds first_;
  const std::chrono::milliseconds last_;
  const std::chrono::milliseconds reset_;
  std::chrono::milliseconds step_;
  base::TimePoint quiet_since_{};
  std::mt19937_64 random_;
};

}  // namespace snug::kube
