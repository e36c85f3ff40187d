// The waits between retries.
#include "adapters/kube/backoff.hpp"

#include <gtest/gtest.h>

namespace snug::backoff_test {
namespace {

TEST(KubeBackoffTest, WaitsDoubleUpToTheLastAndJitterOnlyAddsToThem) {
  base::Limits limits;
  limits.backoff_first_ms = 100;
  limits.backoff_last_ms = 1000;
  limits.backoff_reset_ms = 120'000;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    kube::Backoff backoff(limits, seed);
    base::TimePoint now{std::chrono::hours(1)};
    for (const std::int64_t step : {100, 200, 400, 800, 1000, 1000}) {
      const auto wait = backoff.next(now);
      EXPECT_GE(wait.count(), step) << "seed " << seed;
      EXPECT_LE(wait.count(), 2 * step) << "seed " << seed;
      now += wait + std::chrono::seconds(100);
    }
    now += std::chrono::seconds(121);
    EXPECT_LE(backoff.next(now).count(), 200) << "seed " << seed;
  }
}

}  // namespace
}  // namespace snug::backoff_test
