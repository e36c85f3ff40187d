#include "snug/sim_codec/trace_codec.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "snug/sim_codec/mig_card_text.hpp"

namespace snug::trace_codec_test {
namespace {

const std::string kNodeHeader = "sn,cpu_milli,memory_mib,gpu,model\n";
const std::string kPodHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";

base::Result<std::vector<sim::TraceNode>> nodes_of(const std::string& text) {
  return sim_codec::read_trace_nodes({text, "n.csv"}, base::Limits{});
}

base::Result<std::vector<sim::TracePod>> pods_of(const std::string& text) {
  return sim_codec::read_trace_pods({text, "p.csv"}, base::Limits{});
}

/// Nodes a, b, c and two pods.
sim::Trace three_nodes() {
  return {.nodes = {{.name = "a"}, {.name = "b"}, {.name = "c"}},
          .pods = {{.name = "x"}, {.name = "y"}}};
}

base::Result<sim::Trace> arrivals_of(const std::string& text, sim::Trace trace = three_nodes()) {
  const auto read = sim_codec::read_trace_arrivals({text, "a.txt"}, trace);
  if (!read) return std::unexpected(read.error());
  return trace;
}

struct Refused {
  std::string text;
  std::string message;
};

void PrintTo(const Refused& row, std::ostream* out) { *out << testing::PrintToString(row.text); }

template <typename T>
void expect_refused(const base::Result<T>& read, const Refused& row) {
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code, base::ErrorCode::kInvalid);
  EXPECT_EQ(read.error().message, row.message);
}

class NodesRefusedTest : public testing::TestWithParam<Refused> {};
TEST_P(NodesRefusedTest, SaysWhereAndWhatIsExpected) {
  expect_refused(nodes_of(GetParam().text), GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    Rows, NodesRefusedTest,
    testing::Values(
        Refused{"",
                "n.csv:1: there is no header; expected the columns sn, cpu_milli, memory_mib, gpu, "
                "model"},
        Refused{"# only\n\n",
                "n.csv:3: there is no header; expected the columns sn, cpu_milli, memory_mib, gpu, "
                "model"},
        Refused{"sn,cpu_milli,memory_mib,gpu\n",
                "n.csv:1: the column model is missing; the columns are sn, cpu_milli, memory_mib, "
                "gpu, model"},
        Refused{"sn,sn,cpu_milli,memory_mib,gpu,model\n",
                "n.csv:1: the column sn is in the header twice"},
        Refused{kNodeHeader, "n.csv:2: there is no node; expected at least one row"},
        Refused{kNodeHeader + "a,1,1,0,\nb,1,1,0\n",
                "n.csv:3: this row has 4 fields; the header has 5"},
        Refused{kNodeHeader + "a,1,1,0,,\n", "n.csv:2: this row has 6 fields; the header has 5"},
        Refused{kNodeHeader + "\n#\n,1,1,0,\n",
                "n.csv:4: sn must be a text of 1 to 253 printable ASCII characters without blanks, "
                "not \"\""},
        Refused{kNodeHeader + "a b,1,1,0,\n",
                "n.csv:2: sn must be a text of 1 to 253 printable ASCII characters without blanks, "
                "not \"a b\""},
        Refused{kNodeHeader + std::string(254, 'a') + ",1,1,0,\n",
                "n.csv:2: sn must be a text of 1 to 253 printable ASCII characters without blanks, "
                "not \"" +
                    std::string(63, 'a') + "...\""},
        Refused{kNodeHeader + "a,1.5,1,0,\n",
                "n.csv:2: cpu_milli must be an integer from 0 to 1000000000, not \"1.5\""},
        Refused{kNodeHeader + "a,1,-1,0,\n",
                "n.csv:2: memory_mib must be an integer from 0 to 1000000000, not \"-1\""},
        Refused{kNodeHeader + "a,1,1000000001,0,\n",
                "n.csv:2: memory_mib must be an integer from 0 to 1000000000, not \"1000000001\""},
        Refused{kNodeHeader + "a,,1,0,\n",
                "n.csv:2: cpu_milli must be an integer from 0 to 1000000000, not \"\""},
        Refused{kNodeHeader + "a,1,1,65,A\n",
                "n.csv:2: gpu must be an integer from 0 to 64, not \"65\""},
        Refused{kNodeHeader + "a,1,1,1,\n",
                "n.csv:2: model must be a text of 1 to 253 printable ASCII characters without "
                "blanks, not \"\""},
        Refused{kNodeHeader + "a,1,1,0,A\n",
                "n.csv:2: model must be empty where gpu is 0, not \"A\""},
        Refused{kNodeHeader + "a,1,1,0,\nb,1,1,0,\na,1,1,0,\n",
                "n.csv:4: the node \"a\" is in line 2 already; each node has one line"},
        Refused{kNodeHeader + "\"a,1,1,0,\n",
                "n.csv:2: a quote is not closed in the row that begins here"},
        Refused{kNodeHeader + "\"a\"b,1,1,0,\n",
                "n.csv:2: what follows a field in quotes must be a comma or the end of the line"},
        Refused{"sn,cpu_milli,memory_mib,gpu,model,mig\na,1,1,1,A,1\n",
                "n.csv:2: mig is 1, and " + sim_codec::find_one_mig_card("A").error().message},
        Refused{"sn,cpu_milli,memory_mib,gpu,model,mig\na,1,1,1,A100,1\n",
                "n.csv:2: mig is 1, and \"A100\" may be A100-40GB or A100-80GB; say which"},
        Refused{"sn,cpu_milli,memory_mib,gpu,model,mig\na,1,1,1,A100-40GB,01\n",
                "n.csv:2: mig must be 0, 1 or empty, not \"01\""},
        Refused{"sn,cpu_milli,memory_mib,gpu,model,mig\na,1,1,1,A,yes\n",
                "n.csv:2: mig must be 0, 1 or empty, not \"yes\""}));

class PodsRefusedTest : public testing::TestWithParam<Refused> {};
TEST_P(PodsRefusedTest, SaysWhereAndWhatIsExpected) {
  expect_refused(pods_of(GetParam().text), GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    Rows, PodsRefusedTest,
    testing::Values(
        Refused{kPodHeader, "p.csv:2: there is no pod; expected at least one row"},
        Refused{"name,cpu_milli,memory_mib,num_gpu,gpu_spec\n",
                "p.csv:1: the column gpu_milli is missing; the columns are name, cpu_milli, "
                "memory_mib, num_gpu, gpu_milli"},
        Refused{kPodHeader + "x,1,1,1,1001,\n",
                "p.csv:2: gpu_milli must be an integer from 0 to 1000, not \"1001\""},
        Refused{kPodHeader + "x,1,1,1,0,\n",
                "p.csv:2: gpu_milli must be 1 to 1000 where num_gpu is 1, not 0"},
        Refused{kPodHeader + "x,1,1,2,0,\n",
                "p.csv:2: gpu_milli must be 1000 where num_gpu is more than 1, not 0"},
        Refused{kPodHeader + "x,1,1,2,500,\n",
                "p.csv:2: gpu_milli must be 1000 where num_gpu is more than 1, not 500"},
        Refused{kPodHeader + "x,1,1,0,500,\n",
                "p.csv:2: gpu_milli must be 0 where num_gpu is 0, not 500"},
        Refused{kPodHeader + "x,1,1,65,1000,\n",
                "p.csv:2: num_gpu must be an integer from 0 to 64, not \"65\""},
        Refused{kPodHeader + "x,1,1,1,1,A||B\n",
                "p.csv:2: gpu_spec must be empty or models with | between them, not \"A||B\""},
        Refused{kPodHeader + "x,1,1,1,1,A|\n",
                "p.csv:2: gpu_spec must be empty or models with | between them, not \"A|\""},
        Refused{kPodHeader + "x,1,1,1,1,|\n",
                "p.csv:2: gpu_spec must be empty or models with | between them, not \"|\""},
        Refused{kPodHeader + "\"x\ny\",1,1,0,0,\n",
                "p.csv:2: name must be a text of 1 to 253 printable ASCII characters without "
                "blanks, not \"x?y\""},
        Refused{kPodHeader + "x,\"\n\n\",1,0,0,\ny,1,1,0,1,\n",
                "p.csv:2: cpu_milli must be an integer from 0 to 1000000000, not \"??\""}));

class ArrivalsRefusedTest : public testing::TestWithParam<Refused> {};
TEST_P(ArrivalsRefusedTest, SaysWhereAndWhatIsExpected) {
  expect_refused(arrivals_of(GetParam().text), GetParam());
}
INSTANTIATE_TEST_SUITE_P(
    Rows, ArrivalsRefusedTest,
    testing::Values(
        Refused{"", "a.txt:1: there is no arrival; expected at least one line p ROW or m PROFILE"},
        Refused{"# p 1\n\nn a 1\n",
                "a.txt:3: there is no arrival; expected at least one line p ROW or m PROFILE"},
        Refused{"p 0\nq 1\n",
                "a.txt:2: a line must be p ROW or m PROFILE, each with or without a LIFETIME, or n "
                "NODE RANK, and cannot begin with \"q\""},
        Refused{"p0\n",
                "a.txt:1: a line must be p ROW or m PROFILE, each with or without a LIFETIME, or n "
                "NODE RANK, and cannot begin with \"p0\""},
        Refused{"m 1g.5gb\n",
                "a.txt:1: this line asks for a MIG slice, but no node with GPUs has mig 1"},
        Refused{"m\n",
                "a.txt:1: a line that begins with m must be m PROFILE or m PROFILE LIFETIME"},
        Refused{"m 1g.5gb 1 2\n",
                "a.txt:1: a line that begins with m must be m PROFILE or m PROFILE LIFETIME"},
        Refused{"p\n", "a.txt:1: a line that begins with p must be p ROW or p ROW LIFETIME"},
        Refused{"p 0 1 2\n", "a.txt:1: a line that begins with p must be p ROW or p ROW LIFETIME"},
        Refused{"p 2\n",
                "a.txt:1: ROW must be a row of the pods, an integer from 0 to 1, not \"2\""},
        Refused{"p -1\n",
                "a.txt:1: ROW must be a row of the pods, an integer from 0 to 1, not \"-1\""},
        Refused{"p 01\n",
                "a.txt:1: ROW must be a row of the pods, an integer from 0 to 1, not \"01\""},
        Refused{"p 0 -1\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not \"-1\""},
        Refused{"p 0 1e3\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not \"1e3\""},
        Refused{"p 0 1.2.3\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not \"1.2.3\""},
        Refused{"p 0 .5\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not \".5\""},
        Refused{"p 0 1000000000.1\n",
                "a.txt:1: LIFETIME must be a decimal number from 0 to 1000000000, not "
                "\"1000000000.1\""},
        Refused{"p 0\np 1 5\n",
                "a.txt:2: this arrival has a lifetime, unlike those before it; either all have "
                "one, or none"},
        Refused{"p 0 5\np 1\n",
                "a.txt:2: this arrival has no lifetime, unlike those before it; either all have "
                "one, or none"},
        Refused{"n a\n", "a.txt:1: a line that begins with n must be n NODE RANK"},
        Refused{"n d 1\n", "a.txt:1: there is no node \"d\" in the file of nodes"},
        Refused{"n a x\n", "a.txt:1: RANK must be an integer from 0 to 1000000000, not \"x\""},
        Refused{"n a 1\nn b 1\n",
                "a.txt:2: the rank 1 is in line 1 already; no two nodes can have the same rank"},
        Refused{
            "n a 1\nn a 2\n",
            "a.txt:2: the node \"a\" has a rank in line 1 already; a node can have only one rank"},
        Refused{
            "p 0\nn a 1\nn c 2\n",
            "a.txt:3: the node \"b\" has no rank; either all nodes must have a rank, or none"}));

TEST(TraceCodecTest, NodesAreReadByTheNamesOfTheirColumns) {
  const auto nodes = nodes_of(
      "\xEF\xBB\xBF# the nodes\r\nmodel,\"gpu\",rack,memory_mib,cpu_milli,sn,mig\r\n"
      "V100M16,8,\"r \"\"1\"\", left\nfloor\",393216,96000,a,0\r\n"
      "\r\n"
      "# between\r\n"
      ",0,,1,0,\"#b\",");
  ASSERT_TRUE(nodes.has_value()) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  const sim::TraceNode& first = nodes->front();
  EXPECT_EQ(first.name, "a");
  EXPECT_EQ(first.cpu_milli, 96000);
  EXPECT_EQ(first.memory_mib, 393216);
  EXPECT_EQ(first.gpus, 8);
  EXPECT_EQ(first.model, "V100M16");
  EXPECT_EQ(nodes->back().name, "#b");
  EXPECT_EQ(nodes->back().gpus, 0);
  EXPECT_EQ(nodes->back().model, "");
}

TEST(TraceCodecTest, LinesWithinQuotesAreCounted) {
  const auto nodes =
      nodes_of("sn,cpu_milli,memory_mib,gpu,model,at\na,1,1,0,,\"x\n\ny\"\nb,?,1,0,,\n");
  ASSERT_FALSE(nodes.has_value());
  EXPECT_TRUE(nodes.error().message.starts_with("n.csv:5: cpu_milli")) << nodes.error().message;
}

TEST(TraceCodecTest, NodesAndTheirGpusHaveLimits) {
  base::Limits limits;
  limits.max_nodes = 1;
  limits.max_gpus_per_node = 2;
  const std::string one = kNodeHeader + "a,1,1,2,A\n";
  EXPECT_TRUE(sim_codec::read_trace_nodes({one, "n"}, limits).has_value());
  EXPECT_EQ(sim_codec::read_trace_nodes({one + "b,1,1,0,\n", "n"}, limits).error().message,
            "n:3: there are more than 1 nodes, the maximum");
  EXPECT_EQ(sim_codec::read_trace_nodes({kNodeHeader + "a,1,1,3,A\n", "n"}, limits).error().message,
            "n:2: gpu must be an integer from 0 to 2, not \"3\"");
}

TEST(TraceCodecTest, PodsSayHowManyGpusHowMuchOfEachAndWhichModels) {
  const auto pods = pods_of(
      "qos,name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
      "LS,x,6000,12288,1,460,\n"
      "BE,y,0,0,0,0,\n"
      "BE,x,1,2,8,1000,V100M16|V100M32\n"
      "BE,z,1,2,1,1000,T4\n");
  ASSERT_TRUE(pods.has_value()) << pods.error().message;
  const std::vector<sim::TracePod> expected{{"x", 6000, 12288, 1, 460, {}},
                                            {"y", 0, 0, 0, 0, {}},
                                            {"x", 1, 2, 8, 1000, {"V100M16", "V100M32"}},
                                            {"z", 1, 2, 1, 1000, {"T4"}}};
  EXPECT_EQ(*pods, expected);
  const auto of_any_model = pods_of("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1,2,1,460\n");
  ASSERT_TRUE(of_any_model.has_value()) << of_any_model.error().message;
  EXPECT_EQ(*of_any_model, (std::vector<sim::TracePod>{{"x", 1, 2, 1, 460, {}}}));
}

std::string names_of(const sim::Trace& trace) {
  std::string names;
  for (const sim::TraceNode& node : trace.nodes) names += node.name;
  return names;
}

TEST(TraceCodecTest, ArrivalsKeepTheirOrderAndNodesWithoutRanksTheirs) {
  const auto trace = arrivals_of("\xEF\xBB\xBF# two\r\np 1\r\n\r\n \tp\t0 \np 1");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  std::string pods;
  for (const sim::Arrival& arrival : trace->arrivals) {
    pods += std::to_string(arrival.pod);
    EXPECT_FALSE(arrival.lifetime.has_value());
  }
  EXPECT_EQ(pods, "101");
  EXPECT_FALSE(trace->churns());
  EXPECT_EQ(names_of(*trace), "abc");
}

TEST(TraceCodecTest, NodesComeByRank) {
  const auto trace = arrivals_of("n a 1000000000\np 0\nn c 0\nn b 7\n");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_EQ(names_of(*trace), "cba");
}

TEST(TraceCodecTest, LifetimesAreDecimal) {
  const auto trace = arrivals_of("p 0 8053.6\np 1 0\n");
  ASSERT_TRUE(trace.has_value()) << trace.error().message;
  EXPECT_TRUE(trace->churns());
  EXPECT_EQ(trace->arrivals[0].lifetime, 8053.6);
  EXPECT_EQ(trace->arrivals[1].lifetime, 0.0);
}

TEST(TraceCodecTest, PodsWithoutTheirFileAreMissed) {
  sim::Trace trace = three_nodes();
  trace.pods.clear();
  const auto read = arrivals_of("p 0\n", trace);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().message, "a.txt:1: this line names a pod, but there is no file of pods");
}

TEST(TraceCodecTest, AfterAnErrorTheTraceIsAsItWas) {
  sim::Trace trace = three_nodes();
  ASSERT_FALSE(
      sim_codec::read_trace_arrivals({"p 0\nn b 1\nn a 2\nn c 3\np 9\n", "a"}, trace).has_value());
  EXPECT_EQ(names_of(trace), "abc");
  EXPECT_TRUE(trace.arrivals.empty());
}

}  // namespace
}  // namespace snug::trace_codec_test
