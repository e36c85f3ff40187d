// Lines m of a trace: pods that ask for MIG profiles.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "snug/sim_codec/trace_codec.hpp"

namespace snug::trace_slices_test {
namespace {

const std::string kHeader = "sn,cpu_milli,memory_mib,gpu,model,mig\n";

sim::Trace read_nodes(const std::string& rows) {
  sim::Trace trace;
  auto nodes = sim_codec::read_trace_nodes({kHeader + rows, "n.csv"}, base::Limits{});
  EXPECT_TRUE(nodes.has_value()) << nodes.error().message;
  if (nodes) trace.nodes = *std::move(nodes);
  return trace;
}

/// With a pod of one GPU.
sim::Trace one_a100() {
  sim::Trace trace = read_nodes("a,1,1,8,NVIDIA-A100-SXM4-40GB,1\nb,1,1,8,T4,0\n");
  trace.pods = {{.name = "x", .gpus = 1, .gpu_milli = 1000}};
  return trace;
}

TEST(TraceSlicesTest, TheColumnMigIs0Or1OrEmpty) {
  const sim::Trace trace = read_nodes(
      "a,1,1,8,A100-40GB,1\nb,1,1,8,A100-40GB,0\nc,1,1,8,T4,\nd,1,1,0,,1\n"
      "e,1,1,1,RTX-PRO-6000,1\n");
  std::string mig;
  for (const sim::TraceNode& node : trace.nodes) mig += node.mig_card ? '1' : '0';
  EXPECT_EQ(mig, "10001");
}

TEST(TraceSlicesTest, APodAsksForOneSliceOfTheProfile) {
  sim::Trace trace = one_a100();
  const auto read = sim_codec::read_trace_arrivals(
      {"m 1g.5gb\np 0\nm 3g.20gb\nm 1g.5gb\nm 3c.3g.20gb\n", "a"}, trace);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  const auto asking = [](const std::string& profile, int milli, int slices) {
    return sim::TracePod{.name = profile,
                         .gpus = 1,
                         .gpu_milli = milli,
                         .mig_profile = profile,
                         .mig_slices = slices};
  };
  std::vector<sim::TracePod> arrived;
  for (const sim::Arrival& arrival : trace.arrivals) {
    arrived.push_back(trace.pods.at(arrival.pod));
    EXPECT_FALSE(arrival.lifetime.has_value());
  }
  EXPECT_EQ(arrived, (std::vector<sim::TracePod>{
                         asking("1g.5gb", 125, 1), trace.pods[0], asking("3g.20gb", 500, 4),
                         asking("1g.5gb", 125, 1), asking("3g.20gb", 500, 4)}));
  EXPECT_EQ(trace.pods.front().name, "x") << "rows keep their numbers";
}

TEST(TraceSlicesTest, TheyMayLeave) {
  sim::Trace trace = one_a100();
  trace.pods.clear();
  const auto read = sim_codec::read_trace_arrivals({"m 1g.5gb 8053.6\nm 7g.40gb 0\n", "a"}, trace);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_TRUE(trace.churns());
  EXPECT_EQ(trace.arrivals[0].lifetime, 8053.6);
  EXPECT_EQ(trace.arrivals[1].lifetime, 0.0);
  EXPECT_EQ(trace.pods.at(trace.arrivals[1].pod).mig_slices, 8);
}

TEST(TraceSlicesTest, AttributesAndOtherAxesAreThoseOfTheCard) {
  sim::Trace trace = read_nodes("a,1,1,1,RTX-PRO-6000,1\n");
  const auto read = sim_codec::read_trace_arrivals({"m 1g.24gb+gfx\nm 2g.48gb-me\n", "a"}, trace);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(trace.pods[0].mig_slices, 3);
  EXPECT_EQ(trace.pods[0].gpu_milli, 250);
  EXPECT_EQ(trace.pods[1].mig_slices, 6);
  EXPECT_EQ(trace.pods[1].gpu_milli, 500);
}

struct Refused {
  std::string nodes;
  std::string text;
  std::string message;
};

void PrintTo(const Refused& row, std::ostream* out) { *out << testing::PrintToString(row.text); }

class SlicesRefusedTest : public testing::TestWithParam<Refused> {};

TEST_P(SlicesRefusedTest, SaysWhereAndWhatIsExpected) {
  sim::Trace trace = read_nodes(GetParam().nodes);
  trace.pods = {{.name = "x"}};
  const auto read = sim_codec::read_trace_arrivals({GetParam().text, "a.txt"}, trace);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, GetParam().message);
  EXPECT_TRUE(trace.arrivals.empty());
  EXPECT_EQ(trace.pods.size(), 1U);
}

constexpr const char* kMig = "a,1,1,8,A100-40GB,1\n";
constexpr const char* kTwo = "a,1,1,8,A100-40GB,1\nb,1,1,1,A30,1\nc,1,1,8,A100-40GB,1\n";
constexpr const char* kNoMig =
    "a.txt:1: this line asks for a MIG slice, but no node with GPUs has mig 1";
constexpr const char* kNone =
    "PROFILE must be one of 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb, 7g.40gb, not ";

INSTANTIATE_TEST_SUITE_P(
    Rows, SlicesRefusedTest,
    testing::Values(
        Refused{"a,1,1,8,A100-40GB,0\n", "m 1g.5gb\n", kNoMig},
        Refused{"a,1,1,0,,1\n", "m 1g.5gb\n", kNoMig},
        Refused{kTwo, "m 1g.5gb\nm 1g.5GB\n",
                "a.txt:2: PROFILE must be a profile of a MIG card of the trace (A100-40GB, A30), "
                "as snugctl mig CARD lists them, not \"1g.5GB\""},
        Refused{kMig, "m 1g.10gb\nm 1g.6gb\n", std::string("a.txt:2: ") + kNone + "\"1g.6gb\""},
        Refused{kMig, "m 1c.3g.20gb\n", std::string("a.txt:1: ") + kNone + "\"1c.3g.20gb\""},
        Refused{kMig, "m 1g.5gb+gfx\n", std::string("a.txt:1: ") + kNone + "\"1g.5gb+gfx\""},
        Refused{kMig, "m 0\n", std::string("a.txt:1: ") + kNone + "\"0\""},
        Refused{kMig, "m 1g.5gb 1e3\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not \"1e3\""},
        Refused{kMig, "p 0 1\nm 1g.5gb\n",
                "a.txt:2: this arrival has no lifetime, unlike those before it; either all have "
                "one, or none"}));

}  // namespace
}  // namespace snug::trace_slices_test
