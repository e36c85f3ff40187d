#include "snug/advice/repack.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/repack_scenario.hpp"

namespace snug::repack_test {
namespace {

constexpr const char* kNoRoomElsewhere =
    "the pods that would have to leave a node do not fit elsewhere";

struct Row {
  const char* why;
  std::vector<std::string> nodes;
  std::vector<std::string> pods;
  model::GpuRequest asked;
  std::string advice;
};

void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(RepackScenario(row.nodes, row.pods, row.asked).text(), row.advice) << row.why;
  }
}

model::GpuRequest twice(int thousandths) {
  return make_request(model::FractionRequest{thousandths}, 2, "gpu-fraction=0.5;gpu-count=2");
}

model::GpuRequest of_model(model::GpuRequest request, const std::string& model) {
  request.containers.front().models.included.push_back(model);
  return request;
}

TEST(RepackTest, WhatFitsNeedsNoMove) {
  expect_rows({{"one GPU is free", {"n1: A 1000 x2"}, {"a n1 g0:500"}, make_whole(1), "fits n1:1"},
               {"by score",
                {"n1: A 1000", "n2: A 1000"},
                {"a n2 g0:500"},
                make_fraction(300),
                "fits n2:0"}});
}

TEST(RepackTest, AWholeGpuComesFreeByMovingTheFewestAndSmallest) {
  expect_rows({{"the smaller of two",
                {"n1: A 1000 x2"},
                {"a n1 g0:500", "b n1 g1:400"},
                make_whole(1),
                "b n1:1>n1:0; n1:1"},
               {"one rather than two small ones",
                {"n1: A 1000 x2"},
                {"a n1 g0:100", "b n1 g0:100", "c n1 g1:700"},
                make_whole(1),
                "c n1:1>n1:0; n1:1"},
               {"on another node",
                {"n1: A 1000", "n2: A 1000"},
                {"a n1 g0:500", "b n2 g0:300"},
                make_whole(1),
                "b n2:0>n1:0; n2:0"},
               {"rather on its own node",
                {"n1: A 1000 x2", "n2: A 1000"},
                {"a n1 g0:500", "b n1 g1:400", "c n2 g0:600"},
                make_whole(1),
                "b n1:1>n1:0; n1:1"},
               {"two, the larger first",
                {"n1: A 1000 x3"},
                {"a n1 g0:200", "b n1 g0:300", "c n1 g1:700", "d n1 g2:800"},
                make_whole(1),
                "b n1:0>n1:1, a n1:0>n1:2; n1:0"}});
}

TEST(RepackTest, ASecondGpuIsMade) {
  expect_rows({{"of two, one is free already",
                {"n1: A 1000 x3"},
                {"a n1 g0:500", "b n1 g1:400"},
                make_whole(2),
                "b n1:1>n1:0; n1:1+2"},
               {"both are made",
                {"n1: A 1000 x2", "n2: A 1000 x2"},
                {"a n1 g0:300", "b n1 g1:300", "c n2 g0:500", "d n2 g1:600"},
                make_whole(2),
                "a n1:0>n2:1, b n1:1>n2:0; n1:0+1"},
               {"shares on two GPUs",
                {"n1: A 1000 x2", "n2: A 1000"},
                {"a n1 g0:600", "b n1 g1:300", "c n2 g0:400"},
                twice(500),
                "a n1:0>n2:0; n1:0+1"}});
}

TEST(RepackTest, FourGpusAreEmptiedAtOnce) {
  expect_rows({{"each of a pod",
                {"n1: A 1000 x4", "n2: A 1000 x4"},
                {"a n1 g0:100", "b n1 g1:200", "c n1 g2:300", "d n1 g3:400", "e n2 g0:900",
                 "f n2 g1:800", "g n2 g2:700", "h n2 g3:600"},
                make_whole(4),
                "d n1:3>n2:3, c n1:2>n2:2, b n1:1>n2:1, a n1:0>n2:0; n1:0+1+2+3"}});
}

TEST(RepackTest, WhoHasNoRoomIsMadeSomeByAnother) {
  expect_rows({{"b leaves its GPU to a",
                {"n1: Big 1000", "n2: A 1000 x2"},
                {"a n1 g0:600", "b n2 g0:500", "c n2 g1:500"},
                of_model(make_whole(1), "Big"),
                "b n2:0>n2:1, a n1:0>n2:0; n1:0"}});
}

TEST(RepackTest, WhereNothingHelpsItSaysSo) {
  expect_rows(
      {{"all is full",
        {"n1: A 1000 x2"},
        {"a n1 g0:600", "b n1 g1:600"},
        make_whole(1),
        kNoRoomElsewhere},
       {"no node has so many GPUs",
        {"n1: A 1000 x2"},
        {"a n1 g0:600"},
        make_whole(3),
        "the request fits on no node, even if every movable pod left it; the nearest is node n1: "
        "TooLarge: the request is larger than the node's GPUs even when they are empty"},
       {"there is no node", {}, {}, make_whole(1), "no nodes are known"}});
}

TEST(RepackTest, OfNodesThatNothingHelpsItNamesTheOneThatComesNearest) {
  struct Cluster {
    std::vector<std::string> nodes;
    std::vector<std::string> pods;
    std::string nearest;
  };
  for (const Cluster& row : std::vector<Cluster>{
           {{"n1:", "n2: A 100", "n3: A 1000 unhealthy"}, {}, "the nearest is node n3: Unhealthy"},
           {{"n1:", "n2: A 1000 | pool=whole"}, {}, "the nearest is node n2: WrongPool"},
           {{"n1: A 1000 | pool=whole", "n2: A 1000"},
            {"a n2 g0:700 tied"},
            "the nearest is node n2: NoRoom"},
           {{"n1: A 100", "n2: A 1000 | closed=Reconfiguring"},
            {},
            "the nearest is node n2: Reconf"},
           {{"n1:", "n2: A 100"}, {}, "the nearest is node n2: TooLarge"},
           {{"n2:", "n1:"}, {}, "the nearest is node n1: NoGpu"}}) {
    const std::string text = RepackScenario(row.nodes, row.pods, make_memory(500)).text();
    EXPECT_NE(text.find(row.nearest), std::string::npos) << text;
  }
}

TEST(RepackTest, WhoMayNotBeMovedStays) {
  const auto advice_with = [](const std::string& word) {
    return RepackScenario({"n1: A 1000 x2"}, {"a n1 g0:200 " + word, "b n1 g1:400"}, make_whole(1))
        .text();
  };
  EXPECT_EQ(advice_with("cpu=1"), "a n1:0>n1:1; n1:0");
  for (const char* word : {"ending", "tied", "unknown", "by-hand"}) {
    EXPECT_EQ(advice_with(word), "b n1:1>n1:0; n1:1") << word;
  }
  EXPECT_EQ(advice_with("suspect"), kNoRoomElsewhere) << "and its GPU takes nobody";
  RepackScenario spared({"n1: A 1000 x2"}, {"a n1 g0:200", "b n1 g1:400"}, make_whole(1));
  spared.protected_uids = {"a"};
  EXPECT_EQ(spared.text(), "b n1:1>n1:0; n1:1");
}

TEST(RepackTest, PodsOfTheKubeletStayAndKeepOthersAway) {
  expect_rows({{"nobody goes to their node",
                {"n1: A 1000", "n2: A 1000 x2 | nvidia.com/gpu=2/2"},
                {"a n1 g0:200", "b n2 u1"},
                make_whole(1),
                kNoRoomElsewhere},
               {"for one of them all others leave a node",
                {"n1: A 1000 x2", "n2: A 1000 x2 | nvidia.com/gpu=2/2"},
                {"a n1 g0:200", "b n2 g0:300", "c n2 g1:300"},
                make_units(1),
                "b n2:0>n1:0, c n2:1>n1:0; n2:"}});
}

TEST(RepackTest, ModelsAreRespected) {
  expect_rows({{"a pod stays with its model, though another has room",
                {"n1: A 1000 x2, B 1000"},
                {"a n1 g0:300 model=A", "b n1 g1:200 model=A", "c n1 g2:100"},
                of_model(make_whole(1), "A"),
                "b n1:1>n1:0; n1:1"},
               {"the request too",
                {"n1: A 1000", "n2: B 1000"},
                {"a n1 g0:300", "b n2 g0:200"},
                of_model(make_whole(1), "A"),
                "a n1:0>n2:0; n1:0"},
               {"who must have the request's model has nowhere to go",
                {"n1: A 1000", "n2: B 1000"},
                {"a n1 g0:300 model=A"},
                of_model(make_whole(1), "A"),
                kNoRoomElsewhere}});
}

TEST(RepackTest, ModesAreRespected) {
  expect_rows({{"a pod under MPS goes where MPS is",
                {"n1: A 1000 x2 modes=whole+time-slicing+mps", "n2: A 1000 modes=whole+mps"},
                {"a n1 g0:200 isolation=mps", "b n1 g1:400", "c n2 g0:400 isolation=mps"},
                make_whole(1),
                "a n1:0>n2:0; n1:0"}});
}

TEST(RepackTest, SlicesMoveOnTheirOwnGpuToo) {
  const std::string card = "n1: NVIDIA-A100-SXM4-40GB 40960 mig";
  const std::string dynamic = " | dynamic";
  expect_rows({{"along the axis",
                {card + dynamic},
                {"a n1 m0:1g.5gb@1", "b n1 m0:2g.10gb@4"},
                make_slice_request("3g.20gb"),
                "a n1:0@1>n1:0@6; n1:0@0"},
               {"to another card",
                {card + " x2" + dynamic},
                {"a n1 m0:3g.20gb@0", "b n1 m1:3g.20gb@4"},
                make_slice_request("7g.40gb"),
                "a n1:0@0>n1:1@0; n1:0@0"},
               {"not where the axis is full",
                {card + dynamic},
                {"a n1 m0:3g.20gb@0", "b n1 m0:3g.20gb@4"},
                make_slice_request("4g.20gb"),
                kNoRoomElsewhere}});
}

TEST(RepackTest, CpuIsLookedAtWhereItIsKnown) {
  RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000"},
                    {"a n1 g0:300 cpu=4", "b n2 g0:600 cpu=4", "c n3 g0:700 cpu=4"}, make_whole(1));
  const auto give = [&](std::size_t node, std::int64_t cpu) {
    on.inventories[node].host = {.resources = {.cpu_milli = cpu}, .pod_slots = 10, .known = true};
  };
  EXPECT_EQ(on.text(), "a n1:0>n3:0; n1:0");
  give(2, 6);
  EXPECT_EQ(on.text(), "a n1:0>n2:0; n1:0") << "n3 has no cpu for it";
  for (const std::size_t node : {0, 1, 2}) give(node, 4);
  on.incoming.host.cpu_milli = 5;
  EXPECT_EQ(on.text(),
            "no node has enough CPU, memory or pod slots, even if every movable pod left it");
}

TEST(RepackTest, WhatFitsByGpusAndLacksCpuDoesNotFit) {
  RepackScenario on({"n1: A 1000 x2", "n2: A 1000"}, {"a n1 g0:300 cpu=4", "b n2 g0:300"},
                    make_whole(1));
  on.incoming.host.cpu_milli = 4;
  on.inventories[0].host = {.resources = {.cpu_milli = 6}, .pod_slots = 10, .known = true};
  on.inventories[1].host = {.resources = {.cpu_milli = 100}, .pod_slots = 10, .known = true};
  EXPECT_EQ(on.text(), "a n1:0>n2:0; n1:0") << "a leaves its cpu on n1, where a GPU is free";
}

TEST(RepackTest, PodsThatAreOnlyCountedKeepTheirPlacesBesideIntentsAndMoves) {
  RepackScenario on({"n1: A 1000 x2", "n2: A 1000 x2"}, {"a n1 g0:300 cpu=1", "b n1 g1:600 cpu=1"},
                    make_whole(1));
  on.incoming.host.cpu_milli = 1;
  for (model::NodeInventory& node : on.inventories) {
    node.host = {.resources = {.cpu_milli = 10}, .pod_slots = 2000, .known = true};
  }
  on.intents.push_back(make_movable("flying n2 g0:200"));
  on.unlisted["n2"] = {.requested = {.cpu_milli = 10}, .pod_count = 1100, .listed = {}};
  on.unlisted["n1"] = {.requested = {.cpu_milli = 7}, .pod_count = 1100, .listed = {}};
  EXPECT_EQ(on.text(), "a n1:0>n1:1; n1:0") << "n2 has no cpu for a";
  on.holdings[1] = make_movable("b n1 g1:800 cpu=1");
  EXPECT_EQ(on.text(), "the pods that would have to leave a node do not fit elsewhere");
}

TEST(RepackTest, TenantsKeepApart) {
  RepackScenario on({"n1: A 1000 x2", "n2: A 1000"},
                    {"a n1 g0:300 ns=x", "b n1 g1:400 ns=y", "c n2 g0:500 ns=x"}, make_whole(1));
  EXPECT_EQ(on.text(), "a n1:0>n1:1; n1:0");
  on.incoming.sharing = model::SharingRules({{{"y"}, {.own_namespace_only = true}}});
  EXPECT_EQ(on.text(), "a n1:0>n2:0; n1:0");
}

TEST(RepackTest, NoMoveLiftsACap) {
  RepackScenario on({"n1: A 1000 x2"}, {"a n1 g0:300", "b n1 g1:400"}, make_whole(1));
  on.incoming.sharing = model::SharingRules({{{"default"}, {.cap = base::MilliGpu{1700}}}});
  EXPECT_EQ(on.text(), "a n1:0>n1:1; n1:0") << "who moves holds no more than before";
  on.incoming.sharing = model::SharingRules({{{"default"}, {.cap = base::MilliGpu{1699}}}});
  EXPECT_EQ(
      on.text(),
      "the request fits on no node, even if every movable pod left it; the nearest is node n1: "
      "CapReached: the namespace's cap is reached");
}

TEST(RepackTest, NobodyTakesTheRoomOfPodsInFlightOrNominated) {
  RepackScenario on({"n1: A 1000", "n2: A 1000", "n3: A 1000"},
                    {"a n1 g0:300", "b n2 g0:600", "c n3 g0:650"}, make_whole(1));
  EXPECT_EQ(on.text(), "a n1:0>n3:0; n1:0");
  on.intents.push_back(make_movable("flying n3 g0:200"));
  EXPECT_EQ(on.text(), "a n1:0>n2:0; n1:0");
  on.nominated.push_back(std::make_shared<const model::Nomination>(model::Nomination{
      .name_space = "default", .node = "n2", .rank = {}, .request = make_fraction(100)}));
  EXPECT_EQ(on.text(), kNoRoomElsewhere);
}

TEST(RepackTest, MoreMovesThanAreAdvisedAreNotTried) {
  std::vector<std::string> pods;
  std::string gpus = "n1: A 1000 x36";
  for (int i = 0; i < 36; ++i) {
    pods.push_back("p" + std::to_string(100 + i) + " n1 g" + std::to_string(i) + ":100");
  }
  EXPECT_EQ(RepackScenario({gpus, "n2: A 1000 x8"}, pods, make_whole(36)).text(),
            "no solution was found within the search limit");
}

}  // namespace
}  // namespace snug::repack_test
