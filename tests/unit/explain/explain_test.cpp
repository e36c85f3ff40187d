// Explanations on small clusters. In the scenarios, a GPU has 1000 MiB.
#include "snug/explain/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/repack_scenario.hpp"

namespace snug::explain_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

explain::Explanation explained(const RepackScenario& on) {
  const model::Snapshot snapshot = on.snapshot();
  return explain::explain(
      {.snapshot = snapshot, .incoming = on.incoming.view(), .protected_uids = on.protected_uids});
}

/// The sentences of one kind; empty: there is no such advice.
std::string advice_of(const explain::Explanation& explanation, explain::AdviceKind kind) {
  std::string sentences;
  for (const explain::Advice& advice : explanation.advice) {
    if (advice.kind == kind) sentences += (sentences.empty() ? "" : "; ") + advice.sentence;
  }
  return sentences;
}

model::GpuRequest with_text(model::GpuRequest request, const std::string& more) {
  request.containers.front().text += more;
  return request;
}

TEST(ExplainTest, CountsReasonsWithTheNearestFirst) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: B 400", "n4: A 1000 | pool=whole"},
                          {"a n1 g0:600", "b n2 g0:800"}, make_fraction(500));
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nodes, 4);
  EXPECT_EQ(explanation.feasible, 1) << "n3 takes half of its 400 MiB";
  EXPECT_TRUE(explanation.advice.empty());
  EXPECT_FALSE(explanation.nearest.has_value());
}

TEST(ExplainTest, TheNearestNodeLacksLeast) {
  const RepackScenario on({"n1: A 1000 x2", "n2: A 1000"},
                          {"a n1 g0:600", "b n1 g1:550", "c n2 g0:800"}, make_fraction(500));
  const explain::Explanation explanation = explained(on);
  ASSERT_TRUE(explanation.nearest.has_value());
  EXPECT_EQ(explanation.nearest->node, "n1");
  EXPECT_EQ(explanation.nearest->sentence,
            "NoRoom: no GPU has room for the request (GPU 1 (A) of node n1 lacks 50 MiB and 5 %: "
            "450 MiB and 45 % are free, 500 MiB and 50 % are needed)");
  ASSERT_EQ(explanation.blockers.size(), 1);
  EXPECT_EQ(explanation.blockers[0].pod, "b");
  EXPECT_EQ(explanation.blockers[0].gpu, 1);
  EXPECT_EQ(explanation.blockers[0].memory_mib, 550);
}

TEST(ExplainTest, TheNearestGpuIsOneThatCouldServeThePod) {
  model::GpuRequest by_time = with_text(make_fraction(500), ";gpu-isolation=time-slicing");
  by_time.containers.front().isolation = model::Isolation::kTimeSlicing;
  const RepackScenario on({"n1: A 1000 x2"}, {"a n1 g0:100 isolation=mps", "b n1 g1:800"}, by_time);
  const explain::Explanation explanation = explained(on);
  ASSERT_TRUE(explanation.nearest.has_value());
  EXPECT_THAT(explanation.nearest->sentence, HasSubstr("GPU 1 (A) of node n1 lacks 300 MiB"));
  ASSERT_EQ(explanation.blockers.size(), 1);
  EXPECT_EQ(explanation.blockers[0].pod, "b");
}

TEST(ExplainTest, ANodeOfAnotherPoolIsNotNearestIfItsGpusAreTooSmall) {
  const RepackScenario on({"n1: A 400 | pool=whole", "n2: A 500"}, {}, make_memory(600));
  const explain::Explanation explanation = explained(on);
  ASSERT_TRUE(explanation.nearest.has_value());
  EXPECT_EQ(explanation.nearest->node, "n2");
  EXPECT_TRUE(explanation.blockers.empty());
}

TEST(ExplainTest, SmallerRequestsAreTheLargestThatFit) {
  const RepackScenario half({"n1: A 1000 x2", "n2: A 1000"},
                            {"a n1 g0:600", "b n1 g1:550", "c n2 g0:800"}, make_fraction(500));
  EXPECT_EQ(advice_of(explained(half), explain::AdviceKind::kSmallerRequest),
            "a smaller request: gpu-fraction=0.45 would fit now, on node n1");
  const RepackScenario whole({"n1: A 1000"}, {"a n1 g0:300"}, make_whole(1));
  EXPECT_EQ(advice_of(explained(whole), explain::AdviceKind::kSmallerRequest),
            "a smaller request: gpu-fraction=0.7 would fit now, on node n1");
  const RepackScenario four({"n1: A 1000 x3"}, {"a n1 g0:300"}, make_whole(4));
  EXPECT_EQ(advice_of(explained(four), explain::AdviceKind::kSmallerRequest),
            "fewer GPUs: gpu-fraction=2 would fit now, on node n1");
  const RepackScenario memory({"n1: A 1000"}, {"a n1 g0:300"}, make_memory(900));
  EXPECT_EQ(advice_of(explained(memory), explain::AdviceKind::kSmallerRequest),
            "a smaller request: gpu-memory=700Mi would fit now, on node n1");
  const RepackScenario units({"n1: A 1000 x2 | nvidia.com/gpu=2"}, {"a n1 u1"}, make_units(2));
  EXPECT_EQ(advice_of(explained(units), explain::AdviceKind::kSmallerRequest),
            "fewer GPUs: nvidia.com/gpu=1 would fit now, on node n1");
}

TEST(ExplainTest, TheEndOfTheFewestAndSmallestPodsIsAdvised) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000"},
                          {"a n1 g0:300", "b n1 g0:400", "c n2 g0:600"}, make_fraction(650));
  EXPECT_EQ(advice_of(explained(on), explain::AdviceKind::kEnd),
            "the pod will fit on node n2 when default/c has ended")
      << "one pod of either node suffices; n2 has more room";
  RepackScenario one = on;
  one.protected_uids = {"c"};
  EXPECT_EQ(advice_of(explained(one), explain::AdviceKind::kEnd),
            "the pod will fit on node n1 when default/b has ended")
      << "the end of a would not suffice";
  RepackScenario two = on;
  two.incoming.request = make_whole(1);
  two.protected_uids = {"c"};
  EXPECT_EQ(advice_of(explained(two), explain::AdviceKind::kEnd),
            "the pod will fit on node n1 when default/a, default/b have ended");
}

TEST(ExplainTest, TerminatingPodsAreWaitedFor) {
  const RepackScenario on({"n1: A 1000"}, {"a n1 g0:600 ending"}, make_fraction(500));
  EXPECT_EQ(advice_of(explained(on), explain::AdviceKind::kWait),
            "wait: the pod will fit on node n1 when the terminating default/a has ended");
}

TEST(ExplainTest, MovesAreThoseOfDefrag) {
  const RepackScenario on({"n1: A 1000 x2"}, {"a n1 g0:500", "b n1 g1:400"}, make_whole(1));
  EXPECT_THAT(advice_of(explained(on), explain::AdviceKind::kMove),
              HasSubstr("moving default/b from node n1 to node n1"));
}

TEST(ExplainTest, ModelsAndIsolationThatExcludeEveryNode) {
  model::GpuRequest of_b = with_text(make_fraction(500), ";gpu-model=B*");
  of_b.containers.front().models.included = {"B*"};
  const RepackScenario models({"n1: A 1000"}, {}, of_b);
  EXPECT_EQ(advice_of(explained(models), explain::AdviceKind::kModel),
            "without gpu-model the pod would fit now, on node n1 (A)");
  EXPECT_EQ(explained(models).nearest->sentence,
            "ModelExcluded: the pod excludes the GPU models of this node (node n1 has 1 x A with "
            "1000 MiB)");
  model::GpuRequest by_mps = with_text(make_fraction(500), ";gpu-isolation=mps");
  by_mps.containers.front().isolation = model::Isolation::kMps;
  const RepackScenario isolation({"n1: A 1000"}, {}, by_mps);
  const explain::Explanation explanation = explained(isolation);
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kIsolation),
            "with gpu-isolation any the pod would fit now, on node n1");
  EXPECT_THAT(advice_of(explanation, explain::AdviceKind::kMode),
              HasSubstr("node n1 would take the pod if the `modes`"));
}

TEST(ExplainTest, ACapIsToldWithItsAmounts) {
  RepackScenario on({"n1: A 1000 x2"}, {"a n1 g0:600"}, make_fraction(500));
  on.incoming.sharing =
      model::SharingRules({{.namespaces = {"*"}, .rule = {.cap = base::MilliGpu{1000}}}});
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nearest->sentence,
            "CapReached: the namespace's cap is reached (namespace default holds 600 milli-GPU of "
            "its cap of 1000)");
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kCap),
            "namespace default holds 600 milli-GPU of its cap of 1000; with capMilli: 1100 in the "
            "policy the pod would fit on node n1");
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kSmallerRequest),
            "a smaller request: gpu-fraction=0.4 would fit now, on node n1");
}

TEST(ExplainTest, NodesWithoutCpuAreToldApart) {
  RepackScenario on({"n1: A 1000"}, {"a n1 g0:300 cpu=3000"}, make_fraction(500));
  on.inventories.front().host = {.resources = {4000, 1 << 30}, .pod_slots = 110, .known = true};
  on.incoming.host.cpu_milli = 2000;
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.feasible, 0);
  EXPECT_EQ(explanation.lacking_host_resources, 1);
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kEnd),
            "the pod will fit on node n1 when default/a has ended");
}

TEST(ExplainTest, RequestsAreToldInWords) {
  const auto asks = [](const model::GpuRequest& request) {
    return explain::request_in_words(request).front().asks;
  };
  EXPECT_EQ(asks(make_fraction(250)), "25 % of the memory and compute of one GPU");
  EXPECT_EQ(asks(make_fraction(333)), "33.3 % of the memory and compute of one GPU");
  EXPECT_EQ(asks(make_memory(4096)), "4096 MiB of one GPU");
  EXPECT_EQ(asks(make_whole(1)), "one whole GPU");
  EXPECT_EQ(asks(make_whole(2)), "2 whole GPUs of one node");
  EXPECT_EQ(asks(make_slice_request("2g.10gb")), "one MIG slice 2g.10gb");
  EXPECT_EQ(asks(make_units(2)), "2 of nvidia.com/gpu, which the kubelet assigns");
}

TEST(ExplainTest, EachNodeHasItsOwnReason) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000"}, {"a n1 g0:600"}, make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const std::vector<explain::NodeReason> reasons =
      explain::explain({.snapshot = snapshot, .incoming = on.incoming.view(), .per_node = true})
          .per_node;
  ASSERT_EQ(reasons.size(), 2);
  EXPECT_EQ(reasons[0].node, "n1");
  EXPECT_THAT(reasons[0].sentence, HasSubstr("lacks 100 MiB and 10 %"));
  EXPECT_EQ(reasons[1].code, model::ReasonCode::kNone);
}

TEST(ExplainTest, APlacementIsComparedTermByTerm) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000"},
                          {"a n1 g0:500", "b n2 g0:300"}, make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const explain::ExplainInput input{
      .snapshot = snapshot, .incoming = on.incoming.view(), .protected_uids = {}};
  const auto best = explain::compare_best(input);
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->chosen.node, "n1") << "best-fit fills the GPU";
  ASSERT_TRUE(best->runner_up.has_value());
  EXPECT_EQ(best->runner_up->node, "n2");
  ASSERT_EQ(best->chosen.terms.size(), 1);
  EXPECT_EQ(best->chosen.terms[0].term, "best-fit");
  EXPECT_EQ(best->chosen.total, best->chosen.terms[0].score());
  EXPECT_GT(best->chosen.total, best->runner_up->total);
  EXPECT_FALSE(explain::compare_placements(input, "n4", "n1").has_value());
}

}  // namespace
}  // namespace snug::explain_test
