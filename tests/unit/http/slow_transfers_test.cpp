// Whose connections end for requests that wait.
#include "adapters/http/slow_transfers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace snug::slow_transfers_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kRate = 65'536;

TEST(SlowTransfersTest, WhoIsSlow) {
  struct Row {
    const char* name;
    int elapsed_ms;
    std::uint64_t bytes;
    bool waits;
    bool slow;
  };
  for (const Row& row : {
           Row{"has just begun", 249, 0, true, false},
           Row{"has sent nothing", 250, 0, true, true},
           Row{"drips", 9'000, 6, true, true},
           Row{"is at the least rate", 1'000, 65'536, true, false},
           Row{"is below it", 1'000, 65'535, true, true},
           Row{"stopped in the midst of much", 10'000, 655'359, true, true},
           Row{"is large and fast", 5'000, 50'000'000, true, false},
           Row{"waits for the server", 9'000, 6, false, false},
       }) {
    base::ManualClock clock;
    const http::Transfer transfer{clock.now(), row.bytes, row.waits};
    clock.advance(milliseconds{row.elapsed_ms});
    EXPECT_EQ(http::pick_slow_transfers({&transfer, 1}, clock.now(), kRate, 5).size(),
              row.slow ? 1U : 0U)
        << row.name;
    EXPECT_THAT(http::pick_slow_transfers({&transfer, 1}, clock.now(), 0, 5), IsEmpty())
        << "0 is for off";
  }
}

TEST(SlowTransfersTest, TheSlowestGoFirstAndNoMoreThanAreWanted) {
  base::ManualClock clock;
  const base::TimePoint start = clock.now();
  clock.advance(milliseconds{1'000});
  const std::vector<http::Transfer> all = {
      {start, 5'000, true},     {start, 100, true},
      {start, 1, false},        {start + milliseconds{500}, 100, true},
      {start, 1'000'000, true},
  };
  EXPECT_THAT(http::pick_slow_transfers(all, clock.now(), kRate, 0), IsEmpty());
  EXPECT_THAT(http::pick_slow_transfers(all, clock.now(), kRate, 2), ElementsAre(1, 3));
  EXPECT_THAT(http::pick_slow_transfers(all, clock.now(), kRate, 9), ElementsAre(1, 3, 0));
}

}  // namespace
}  // namespace snug::slow_transfers_test
