// Explanations on small clusters. In the scenarios, a GPU has 1000 MiB.
#include "snug/explain/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/explain/event_sentences.hpp"
#include "support/explained.hpp"
#include "support/repack_scenario.hpp"

namespace snug::explain_test {
namespace {

using testing::HasSubstr;

/// The sentences of one kind; empty: there is no such advice.
std::string advice_of(const explain::Explanation& explanation, explain::AdviceKind kind) {
  std::string sentences;
  for (const explain::Advice& advice : explanation.advice) {
    if (advice.kind == kind) sentences += (sentences.empty() ? "" : "; ") + advice.text();
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
            "the pod will fit on node n2 once default/c has ended")
      << "one pod of either node suffices; n2 has more room";
  RepackScenario one = on;
  one.protected_uids = {"c"};
  EXPECT_EQ(advice_of(explained(one), explain::AdviceKind::kEnd),
            "the pod will fit on node n1 once default/b has ended")
      << "the end of a would not suffice";
  RepackScenario two = on;
  two.incoming.request = make_whole(1);
  two.protected_uids = {"c"};
  EXPECT_EQ(advice_of(explained(two), explain::AdviceKind::kEnd),
            "the pod will fit on node n1 once default/a and default/b have ended");
  const RepackScenario eight({"n1: A 1000"},
                             {"a n1 g0:100", "b n1 g0:100", "c n1 g0:100", "d n1 g0:100",
                              "e n1 g0:100", "f n1 g0:100", "g n1 g0:100", "h n1 g0:100"},
                             make_whole(1));
  EXPECT_EQ(advice_of(explained(eight), explain::AdviceKind::kEnd),
            "the pod will fit on node n1 once default/a, default/b, default/c, default/d, "
            "default/e and 3 more have ended");
}

TEST(ExplainTest, TerminatingPodsAreWaitedFor) {
  const RepackScenario on({"n1: A 1000"}, {"a n1 g0:600 ending"}, make_fraction(500));
  EXPECT_EQ(advice_of(explained(on), explain::AdviceKind::kWait),
            "wait: the pod will fit on node n1 once default/a, which is terminating, is gone");
  const RepackScenario three({"n1: A 1000"},
                             {"a n1 g0:300 ending", "b n1 g0:300 ending", "c n1 g0:300 ending"},
                             make_whole(1));
  EXPECT_EQ(advice_of(explained(three), explain::AdviceKind::kWait),
            "wait: the pod will fit on node n1 once default/a, default/b and default/c, which are "
            "terminating, are gone");
}

TEST(ExplainTest, OfGpusThatAreTooSmallTheLargestIsNearest) {
  const RepackScenario on({"n1: A 1000", "n2: A 3000", "n3: A 2000"}, {}, make_memory(4'000));
  const explain::Explanation explanation = explained(on);
  ASSERT_TRUE(explanation.nearest);
  EXPECT_EQ(explanation.nearest->code, model::ReasonCode::kTooLarge);
  EXPECT_EQ(explanation.nearest->node, "n2");
}

TEST(ExplainTest, ANodeMayLackHostResourcesBesidesGpus) {
  RepackScenario on({"n1: A 1000"}, {"a n1 g0:500"}, make_fraction(600));
  on.inventories.front().host = {
      .resources = {4'000, std::int64_t{8} << 30}, .pod_slots = 10, .known = true};
  on.incoming.host = {.cpu_milli = 1'000, .memory_bytes = std::int64_t{10} << 30};
  const explain::Explanation explanation = explained(on);
  ASSERT_TRUE(explanation.nearest);
  EXPECT_EQ(explanation.nearest->code, model::ReasonCode::kNoRoom);
  EXPECT_THAT(explanation.nearest->sentence,
              HasSubstr("; the node also lacks 2 GiB of memory; it is too small for the pod even "
                        "when empty"));
}

TEST(ExplainTest, MovesAreThoseOfDefrag) {
  const RepackScenario on({"n1: A 1000 x2"}, {"a n1 g0:500", "b n1 g1:400"}, make_whole(1));
  EXPECT_EQ(
      advice_of(explained(on), explain::AdviceKind::kMove),
      "the pod will fit on node n1 after moving default/b from node n1, GPU 1 to node n1, GPU 0 "
      "(to move a pod, delete it; its controller creates a new one)");
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
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kMode),
            "node n1 would take the pod if the `modes` of its GPUs in its inventory allowed mps");
}

TEST(ExplainTest, EachModeThatSufficesIsAdvisedByItself) {
  const std::string allowed =
      "node n1 would take the pod if the `modes` of its GPUs in its inventory allowed ";
  const RepackScenario share({"n1: A 1000 modes=whole"}, {}, make_fraction(500));
  EXPECT_EQ(advice_of(explained(share), explain::AdviceKind::kMode),
            allowed + "time-slicing; " + allowed + "mps");
  const RepackScenario whole({"n1: A 1000 modes=mps"}, {}, make_whole(1));
  EXPECT_EQ(advice_of(explained(whole), explain::AdviceKind::kMode), allowed + "whole");
}

TEST(ExplainTest, OnlySmallerMigProfilesAreSmallerRequests) {
  struct Row {
    std::string node;
    std::vector<std::string> pods;
    std::string profile;
    explain::AdviceKind kind;
    std::string sentence;  // before `would fit now`
  };
  using enum explain::AdviceKind;
  const std::string a100_40 = "n1: NVIDIA-A100-SXM4-40GB 40960 mig | dynamic";
  const std::string a100_80 = "n1: NVIDIA-A100-SXM4-80GB 81920 mig | dynamic";
  const std::vector<Row> rows = {
      {a100_80, {}, "1g.5gb", kProfile, "a larger MIG profile: gpu-mig-profile=1g.10gb"},
      {a100_80, {}, "4g.20gb", kSmallerRequest, "a smaller MIG profile: gpu-mig-profile=2g.20gb"},
      {a100_40,
       {"a n1 m0:1g.5gb@6"},
       "7g.40gb",
       kSmallerRequest,
       "a smaller MIG profile: gpu-mig-profile=4g.20gb"},
      {a100_40,
       {"a n1 m0:4g.20gb@0", "b n1 m0:1g.5gb@4"},
       "3g.20gb",
       kSmallerRequest,
       "a smaller MIG profile: gpu-mig-profile=1g.10gb"},
  };
  for (const Row& row : rows) {
    const RepackScenario on({row.node}, row.pods, make_slice_request(row.profile));
    const explain::Explanation explanation = explained(on);
    EXPECT_EQ(advice_of(explanation, row.kind), row.sentence + " would fit now, on node n1");
    const auto other = row.kind == kProfile ? kSmallerRequest : kProfile;
    EXPECT_EQ(advice_of(explanation, other), "") << row.profile;
  }
}

TEST(ExplainTest, ANodeThatIsNotEnforcedIsToldWhatItLacks) {
  struct Row {
    std::string words;
    std::string lacks;
  };
  const Row rows[] = {
      {"",
       "if it had the label snug.dev/enforced=true, which says that software on it limits each "
       "pod to its share"},
      {" enforcement=fail-closed",
       "if it had the label snug.dev/enforced=true, which says that software on it limits each "
       "pod to its share"},
      {" enforcer=koordlet",
       "if it had the label snug.dev/enforced=true, which says that koordlet limits each pod to "
       "its share"},
      {" enforcement=open",
       "if its container runtime refused GPU pods while the agent is away: its inventory says "
       "enforcement: open"},
      {" enforcement=open silent",
       "if its container runtime refused GPU pods while the agent is away: its inventory says "
       "enforcement: open, and if its agent ran"},
      {" enforcement=fail-closed limits=mps",
       "if the `modes` of its GPUs allowed no time-slicing, where MPS does not limit shares"},
      {" enforcement=fail-closed limits=none",
       "if something on it limited shares: its inventory says limits: none"}};
  for (const Row& row : rows) {
    RepackScenario on({"n1: A 1000 modes=time-slicing+mps |" + row.words}, {}, make_fraction(500));
    on.incoming.sharing =
        model::SharingRules({{.namespaces = {"*"}, .rule = {.require_enforcement = true}}});
    const explain::Explanation explanation = explained(on);
    EXPECT_EQ(explanation.nearest->sentence.substr(0, 13), "NotEnforced: ");
    EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kLabel),
              "node n1 would take the pod " + row.lacks);
  }
}

TEST(ExplainTest, ANodeWithoutItsAgentIsToldToHaveItBack) {
  RepackScenario on({"n1: A 1000 | enforced enforcement=fail-closed silent"}, {},
                    make_fraction(500));
  const std::string start = "node n1 would take the pod if its agent ran: Snug sees no heartbeat";
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nearest->sentence,
            model::message(model::ReasonCode::kAgentAway) +
                " (the Lease agent.n1 is missing or is not renewed)");
  EXPECT_THAT(advice_of(explanation, explain::AdviceKind::kRepair), HasSubstr(start));
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kLabel), "");
  EXPECT_TRUE(explanation.blockers.empty()) << "no pod is in the way";

  on.inventories.front().enforces_shares = false;
  on.inventories.front().share_limits = model::ShareLimits::kNone;
  on.incoming.sharing =
      model::SharingRules({{.namespaces = {"*"}, .rule = {.require_enforcement = true}}});
  const explain::Explanation lacks_both = explained(on);
  EXPECT_EQ(advice_of(lacks_both, explain::AdviceKind::kRepair), "") << "it does not suffice";
  EXPECT_EQ(advice_of(lacks_both, explain::AdviceKind::kLabel),
            "node n1 would take the pod if something on it limited shares: its inventory says "
            "limits: none, and if its agent ran");
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
  ASSERT_TRUE(explanation.nearest.has_value());
  EXPECT_EQ(explanation.nearest->code, model::ReasonCode::kNone);
  EXPECT_EQ(explanation.nearest->sentence,
            "the GPUs of node n1 have room, but the node lacks 1 CPU");
  EXPECT_TRUE(explanation.blockers.empty());
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kEnd),
            "the pod will fit on node n1 once default/a has ended");
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

TEST(ExplainTest, OnlyOfferedNodesAreExplained) {
  RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000", "n4: A 1000"},
                    {"a n1 g0:600", "b n2 g0:800 ending"}, make_fraction(500));
  on.incoming.name_space = "team";
  const model::Snapshot snapshot = on.snapshot();
  const std::vector<std::uint32_t> offered = {0, 1, 99};  // there is no node 99
  const explain::ExplainInput input{.snapshot = snapshot,
                                    .incoming = on.incoming.view(),
                                    .protected_uids = {},
                                    .offered = offered,
                                    .per_node = true};
  const explain::Explanation explanation = explain::explain(input);
  EXPECT_EQ(explanation.nodes, 2);
  EXPECT_EQ(explanation.known_nodes, 4);
  EXPECT_EQ(explanation.feasible, 0) << "n3 and n4 have room, but are not offered";
  ASSERT_EQ(explanation.reasons.size(), 1);
  EXPECT_EQ(explanation.reasons[0].nodes, 2);
  ASSERT_EQ(explanation.per_node.size(), 2);
  ASSERT_TRUE(explanation.nearest.has_value());
  EXPECT_EQ(explanation.nearest->node, "n1");
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kSmallerRequest),
            "a smaller request: gpu-fraction=0.4 would fit now, on node n1");
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kWait),
            "wait: the pod will fit on node n2 once default/b, which is terminating, is gone");
  EXPECT_EQ(advice_of(explanation, explain::AdviceKind::kEnd),
            "the pod will fit on node n1 once default/a has ended");
  EXPECT_FALSE(explain::compare_best(input, explain::explain(input)).has_value());
}

TEST(ExplainTest, PodsMayMoveToNodesThatAreNotOffered) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000"}, {"a n1 g0:500"}, make_whole(1));
  const model::Snapshot snapshot = on.snapshot();
  const std::vector<std::uint32_t> offered = {0};
  const explain::Explanation explanation = explain::explain({.snapshot = snapshot,
                                                             .incoming = on.incoming.view(),
                                                             .protected_uids = {},
                                                             .offered = offered});
  EXPECT_THAT(
      advice_of(explanation, explain::AdviceKind::kMove),
      HasSubstr(
          "will fit on node n1 after moving default/a from node n1, GPU 0 to node n2, GPU 0 ("));
}

TEST(ExplainTest, ThePlacementIsTheBestOfTheOfferedNodes) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000"},
                          {"a n1 g0:500", "b n2 g0:300"}, make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const std::vector<std::uint32_t> offered = {1, 2};
  const explain::ExplainInput input{.snapshot = snapshot,
                                    .incoming = on.incoming.view(),
                                    .protected_uids = {},
                                    .offered = offered};
  const auto best = explain::compare_best(input, explain::explain(input));
  ASSERT_TRUE(best.has_value());
  EXPECT_EQ(best->chosen.node, "n2") << "n1 would be better";
  ASSERT_TRUE(best->runner_up.has_value());
  EXPECT_EQ(best->runner_up->node, "n3");
}

TEST(ExplainTest, WithoutOfferedNodesNothingIsAdvised) {
  const RepackScenario on({"n1: A 1000"}, {"a n1 g0:600"}, make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const explain::Explanation explanation =
      explain::explain({.snapshot = snapshot,
                        .incoming = on.incoming.view(),
                        .protected_uids = {},
                        .offered = std::span<const std::uint32_t>{}});
  EXPECT_EQ(explanation.nodes, 0);
  EXPECT_EQ(explanation.known_nodes, 1);
  EXPECT_FALSE(explanation.nearest.has_value());
  EXPECT_TRUE(explanation.advice.empty());
}

TEST(ExplainTest, ARefusalCountsTheOfferedNodes) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000"}, {"a n1 g0:600", "b n2 g0:800"},
                          make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const auto sentence = [&](std::optional<std::span<const std::uint32_t>> offered) {
    return explain::refusal_sentence({model::ReasonCode::kNoRoom, {}},
                                     explain::explain({.snapshot = snapshot,
                                                       .incoming = on.incoming.view(),
                                                       .protected_uids = {},
                                                       .offered = offered}));
  };
  const std::vector<std::uint32_t> second = {1};
  EXPECT_THAT(sentence(std::nullopt), HasSubstr(" (2 of 2 nodes). Nearest: GPU 0 (A) of node n1"));
  EXPECT_THAT(sentence(second), HasSubstr(" (1 of 1 node). Nearest: GPU 0 (A) of node n2"));
}

TEST(ExplainTest, TheSampleHasEveryReasonInAVeryLargeCluster) {
  // More nodes are full than 16 bits can count. Of those of another pool, only the last one has a
  // GPU that is large enough, and the others have more free room.
  std::vector<std::string> nodes = {"full: A 1000"};
  for (int i = 10; i < 25; ++i)
    nodes.push_back("pool" + std::to_string(i) + ": A 400 x2 | pool=whole");
  nodes.emplace_back("pool25: A 1000 | pool=whole");
  const RepackScenario on(nodes, {"a full g0:1000 tied"}, make_memory(600));
  model::Snapshot snapshot = on.snapshot();
  std::vector<model::NodeStatePtr> states(66'000, snapshot.nodes[0]);
  for (std::size_t slot = 0; slot < nodes.size(); ++slot) states[slot] = snapshot.nodes[slot];
  snapshot.nodes = model::NodeTable(states);
  const explain::Explanation explanation =
      explain::explain({.snapshot = snapshot, .incoming = on.incoming.view()});
  EXPECT_EQ(explanation.nodes, 66'000);
  EXPECT_THAT(advice_of(explanation, explain::AdviceKind::kLabel), HasSubstr("node pool25 "));
}

TEST(ExplainTest, APlacementIsComparedTermByTerm) {
  const RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000"},
                          {"a n1 g0:500", "b n2 g0:300"}, make_fraction(500));
  const model::Snapshot snapshot = on.snapshot();
  const explain::ExplainInput input{
      .snapshot = snapshot, .incoming = on.incoming.view(), .protected_uids = {}};
  const auto best = explain::compare_best(input, explain::explain(input));
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
