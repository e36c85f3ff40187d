#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "snug/sim_codec/trace_codec.hpp"

namespace snug::trace_timestamps_test {
namespace {

const std::string kHeader = "name,creation_time,deletion_time\n";

base::Result<sim::Trace> trace_of(const std::string& text) {
  sim::Trace trace;
  const auto read = sim_codec::read_trace_timestamps({text, "p.csv"}, trace);
  if (!read) return std::unexpected(read.error());
  return trace;
}

TEST(TimestampsTest, PodsArriveInTheOrderOfTheirCreation) {
  const auto trace =
      trace_of(kHeader + "a,1000,1500\nb,900,\nc,1000,1000\nd,1700000000,1700000060\n");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  std::vector<std::size_t> pods;
  std::vector<double> lifetimes;
  for (const sim::Arrival& arrival : trace->arrivals) {
    pods.push_back(arrival.pod);
    lifetimes.push_back(arrival.lifetime.value_or(-1));
  }
  EXPECT_EQ(pods, (std::vector<std::size_t>{1, 0, 2, 3}));
  EXPECT_EQ(lifetimes, (std::vector<double>{-1, 500, 0, 60}));
  EXPECT_EQ(trace->arrival_seconds, (std::vector<double>{0, 100, 100, 1699999100}));
  EXPECT_TRUE(trace->churns());
}

TEST(TimestampsTest, APodWithoutDeletionStays) {
  const auto trace = trace_of(kHeader + "a,5,\nb,6,\n");
  ASSERT_TRUE(trace.has_value());
  EXPECT_FALSE(trace->churns());
  EXPECT_EQ(trace->time_of(1), 1);
}

TEST(TimestampsTest, SaysWhereATimeIsWrong) {
  struct Row {
    std::string text;
    std::string message;
  };
  for (const Row& row :
       {Row{"name\na\n",
            "p.csv:1: the column creation_time is missing; the columns are creation_time, "
            "deletion_time"},
        Row{kHeader + "a,,1\n",
            "p.csv:2: creation_time must be an integer from 0 to 999999999999, not \"\""},
        Row{kHeader + "a,1.5,2\n",
            "p.csv:2: creation_time must be an integer from 0 to 999999999999, not \"1.5\""},
        Row{kHeader + "a,1,2\nb,3,x\n",
            "p.csv:3: deletion_time must be an integer from 0 to 999999999999, not \"x\""},
        Row{kHeader + "a,3,2\n",
            "p.csv:2: deletion_time is \"2\", before creation_time, which is \"3\""}}) {
    const auto trace = trace_of(row.text);
    ASSERT_FALSE(trace.has_value()) << row.text;
    EXPECT_EQ(trace.error().message, row.message);
  }
}

}  // namespace
}  // namespace snug::trace_timestamps_test
