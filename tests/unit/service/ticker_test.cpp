// What throws is reported, and called again.
#include "snug/service/ticker.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fake_ports.hpp"

namespace snug::ticker_test {
namespace {

using std::chrono::milliseconds;

TEST(TickerTest, AnExceptionIsLoggedAndTheFunctionIsCalledAgain) {
  FakeLog log;
  std::latch thrice{3};
  int calls = 0;
  service::Ticker ticker("election", milliseconds{1}, log, [&] {
    if (++calls > 3) return;
    thrice.count_down();
    if (calls == 1) throw std::runtime_error("no memory");
    if (calls == 2) throw 7;
  });
  thrice.wait();
  ticker.stop();
  EXPECT_EQ(log.lines(),
            (std::vector<std::string>{"a tick of the election failed: no memory",
                                      "a tick of the election failed: an unknown exception"}));
  for (const auto& [level, line] : log.entries())
    EXPECT_EQ(level, service::LogLevel::kError) << line;
}

TEST(TickerTest, AfterStopTheFunctionRunsNoMore) {
  FakeLog log;
  std::latch once{1};
  int calls = 0;
  service::Ticker ticker("tables", milliseconds{1}, log, [&] {
    if (++calls == 1) once.count_down();
  });
  once.wait();
  ticker.stop();
  const int before = calls;  // a data race, if the thread still ran
  ticker.stop();
  EXPECT_EQ(calls, before);
}

}  // namespace
}  // namespace snug::ticker_test
