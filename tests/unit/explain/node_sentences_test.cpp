// What nodes lack, in sentences, and who holds it. In the scenarios, a GPU has 1000 MiB unless the
// node says something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "snug/explain/explain.hpp"
#include "support/explained.hpp"
#include "support/repack_scenario.hpp"

namespace snug::node_sentences_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(NodeSentencesTest, OfSeveralContainersTheOneThatLacksMostIsNamed) {
  model::GpuRequest two = make_fraction(200);
  two.containers.push_back(make_fraction(700).containers.front());
  two.containers.front().container = "small";
  two.containers.back().container = "large";
  const RepackScenario one_lacks({"n1: A 1000"}, {"a n1 g0:500"}, two);
  EXPECT_EQ(explained(one_lacks).nearest->sentence,
            "NoRoom: no GPU has room for the request (GPU 0 (A) of node n1 lacks 200 MiB and 20 %: "
            "500 MiB and 50 % are free, 700 MiB and 70 % are needed by container large)");
  const RepackScenario together({"n1: A 1000"}, {"a n1 g0:200"}, two);
  EXPECT_EQ(explained(together).nearest->sentence,
            "NoRoom: no GPU has room for the request (the containers' requests do not fit together "
            "on node n1; its GPU 0 (A) has 800 MiB and 80 % free)");
  two.containers.back().count = 2;
  const RepackScenario on_two({"n1: A 1000 x2"}, {"a n1 g0:200", "b n1 g1:600"}, two);
  EXPECT_THAT(explained(on_two).nearest->sentence,
              HasSubstr("700 MiB and 70 % are needed by container large on each of 2 GPUs)"));
}

TEST(NodeSentencesTest, ASliceThatFitsIsNotWhatANodeLacks) {
  model::GpuRequest request = make_slice_request("1g.5gb");
  request.containers.push_back(make_fraction(700).containers.front());
  request.containers.front().container = "slice";
  request.containers.back().container = "share";
  RepackScenario on({"n1: NVIDIA-A100-SXM4-40GB 40960 mig | dynamic"}, {"a n1 m0:4g.20gb@0"},
                    request);
  model::GpuInfo second = make_node("n1: A 1000").gpus.front();
  second.index = 1;
  second.uuid = make_gpu_uuid("n1", 1);
  on.inventories.front().gpus.push_back(second);
  on.holdings.push_back(make_movable("b n1 g1:500"));
  const explain::Explanation explanation = explained(on);
  EXPECT_THAT(explanation.nearest->sentence,
              HasSubstr("GPU 1 (A) of node n1 lacks 200 MiB and 20 %"));
  ASSERT_EQ(explanation.blockers.size(), 1);
  EXPECT_EQ(explanation.blockers[0].pod, "b");
}

TEST(NodeSentencesTest, AnotherEnforcerIsNamedWithWhatItLacks) {
  struct Row {
    std::string node;
    model::GpuRequest request;
    std::string sentence;
  };
  model::GpuRequest two = make_fraction(100);
  two.containers.push_back(two.containers.front());
  two.containers.back().container = "side";
  model::GpuRequest long_name = make_fraction(100);
  long_name.containers.front().container = std::string(34, 'c');
  model::GpuRequest by_mps = make_fraction(100);
  by_mps.containers.front().isolation = model::Isolation::kMps;
  const std::string modes = "WrongMode: no GPU is in a mode that can serve the request ";
  const std::string pool = "WrongPool: the node's pool does not take this kind of GPU pod ";
  const std::vector<Row> rows = {
      {"n1: A 1000 | enforcer=koordlet", two,
       pool + "(snug.dev/enforcer is koordlet, which gives all containers of a pod the same GPUs, "
              "so only one may ask for some)"},
      {"n1: A 1000 | enforcer=koordlet pool=whole", two, pool + "(snug.dev/pool is whole)"},
      {"n1: A 1000 | enforcer=nvfractions", long_name,
       pool + "(snug.dev/enforcer is nvfractions, which takes names of at most 33 characters for "
              "containers with GPUs)"},
      {"n1: A 1000 modes=time-slicing | enforcer=koordlet", by_mps,
       modes + "(GPU 0: time-slicing; snug.dev/enforcer is koordlet, which gives no slices and "
               "has no MPS)"},
      {"n1: NVIDIA-A100-SXM4-40GB 40960 mig | dynamic enforcer=nvfractions", make_fraction(100),
       modes + "(GPU 0: slices only; snug.dev/enforcer is nvfractions, which gives no slices)"},
      {"n1: NVIDIA-A100-SXM4-40GB 40960 mig | dynamic enforcer=koordlet",
       make_slice_request("1g.5gb"),
       "NoProfile: no GPU of the node has a slice of this MIG profile, or could be given one (node "
       "n1 has 1 x NVIDIA-A100-SXM4-40GB with 40960 MiB; snug.dev/enforcer is koordlet, which "
       "gives no slices and has no MPS)"}};
  for (const Row& row : rows) {
    const explain::Explanation explanation = explained({{row.node}, {}, row.request});
    EXPECT_EQ(explanation.nearest->sentence, row.sentence) << row.node;
    for (const explain::Advice& advice : explanation.advice)
      EXPECT_NE(advice.kind, explain::AdviceKind::kMode) << advice.text();
  }
}

TEST(NodeSentencesTest, SharesOfSeveralGpusByMpsAreNamedWhereAnAgentServesOne) {
  model::GpuRequest request = make_fraction(200);
  request.containers.front().count = 2;
  request.containers.front().isolation = model::Isolation::kMps;
  RepackScenario on({"n1: A 1000 x2"}, {}, request);
  for (model::GpuInfo& gpu : on.inventories.front().gpus)
    gpu.allowed_modes = {model::GpuMode::kTimeSlicing, model::GpuMode::kMps};
  on.inventories.front().enforcement = model::Enforcement::kOpen;
  EXPECT_EQ(explained(on).nearest->sentence,
            "WrongMode: no GPU is in a mode that can serve the request (GPU 0: time-slicing, mps; "
            "GPU 1: time-slicing, mps; on a node with an agent, a container that gets shares of "
            "several GPUs gets none in the mode mps, since CUDA uses the MPS daemon of one GPU)");
  for (model::GpuInfo& gpu : on.inventories.front().gpus)
    gpu.allowed_modes = {model::GpuMode::kTimeSlicing};
  EXPECT_THAT(explained(on).nearest->sentence, EndsWith("GPU 1: time-slicing)"));
}

TEST(NodeSentencesTest, AVerySmallLackIsALack) {
  RepackScenario on({"n1: A 81920"}, {"a n1 g0:500"}, make_memory(1040));
  auto nearly_all = std::make_shared<model::Holding>(*on.holdings.front());
  nearly_all->reservation.containers.front().assigned = std::vector{make_share(0, 80920, 100)};
  nearly_all->container_requests.clear();
  on.holdings.front() = nearly_all;
  EXPECT_THAT(explained(on).nearest->sentence,
              HasSubstr("GPU 0 (A) of node n1 lacks 40 MiB and 0 %: 1000 MiB and 90 % are free, "
                        "1040 MiB and 1.2 % are needed"));
}

TEST(NodeSentencesTest, EachGpuThatLacksRoomNamesItsHolders) {
  const RepackScenario on({"n1: A 1000 x4"}, {"a n1 g0:300 g1:300", "b n1 g1:500", "c n1 g2:900"},
                          make_whole(3));
  std::vector<std::string> rows;
  for (const explain::Blocker& blocker : explained(on).blockers) {
    rows.push_back(blocker.pod + " " + std::to_string(blocker.gpu.value_or(-1)) + " " +
                   std::to_string(blocker.memory_mib));
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"b 1 500", "a 0 300", "a 1 300"}))
      << "GPU 3 is free, and GPU 2 is the farthest";
}

TEST(NodeSentencesTest, APodThatClosesTheNodeComesFirst) {
  RepackScenario on({"n1: A 1000"}, {"a n1 g0:900"}, make_fraction(500));
  auto unplaced = std::make_shared<model::Holding>(*make_movable("by-hand n1 g0:100"));
  unplaced->unplaced = true;
  unplaced->reservation.containers.clear();
  on.holdings.push_back(unplaced);
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nearest->code, model::ReasonCode::kNodeClosed);
  ASSERT_EQ(explanation.blockers.size(), 2);
  EXPECT_EQ(explanation.blockers[0].pod, "by-hand");
}

TEST(NodeSentencesTest, ANodeThatCouldNotServeEvenIfEmptyIsNotNearest) {
  RepackScenario on({"n1: A 1000 x2", "n2: A 1000 x4"}, {"a n1 g0:500", "b n2 g0:500"},
                    make_units(4));
  for (model::NodeInventory& node : on.inventories) {
    const auto units = static_cast<std::int64_t>(node.gpus.size());
    node.kubelet_capacity = {{"nvidia.com/gpu", units}};
    node.kubelet_allocatable = node.kubelet_capacity;
  }
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nearest->code, model::ReasonCode::kOtherKind);
  EXPECT_EQ(explanation.nearest->node, "n2") << "n1 has only two GPUs";
}

TEST(NodeSentencesTest, PodsThatAreAboutToBeBoundAreNamed) {
  RepackScenario on({"n1: A 1000"}, {"a n1 g0:300"}, make_fraction(500));
  on.intents = {make_movable("b n1 g0:400"), make_movable("new n1 g0:500")};
  const explain::Explanation explanation = explained(on);
  EXPECT_EQ(explanation.nearest->sentence,
            "Promised: the room that is left is promised to other pods, which are about to be "
            "bound (node n1: default/b)");
  EXPECT_TRUE(explanation.blockers.empty()) << "b holds nothing yet";
}

TEST(NodeSentencesTest, AHostShortfallIsToldWithItsAmounts) {
  constexpr std::int64_t kMiB = 1 << 20;
  struct Row {
    model::HostResources all;
    std::int64_t pod_slots;
    model::HostResources requested;
    std::string lacking;
  };
  // The pod on the node requests 3 CPUs.
  const std::vector<Row> rows = {
      {{4000, 8192 * kMiB}, 110, {3000, 0}, "lacks 2 CPUs"},
      {{4000, 8192 * kMiB}, 110, {1500, 0}, "lacks 0.5 CPUs"},
      {{4000, 8192 * kMiB},
       110,
       {0, 12288 * kMiB},
       "lacks 4 GiB of memory; it is too small for the pod even when empty"},
      {{16000, 512 * kMiB},
       110,
       {0, 700 * kMiB + 1},
       "lacks 189 MiB of memory; it is too small for the pod even when empty"},
      {{3000, 8192 * kMiB},
       1,
       {2000, 9830 * kMiB},
       "lacks 2 CPUs and 1.6 GiB of memory and has no free pod slot; it is too small for the pod "
       "even when empty"},
      {{16000, 8192 * kMiB}, 1, {1000, 0}, "has no free pod slot"},
  };
  for (const Row& row : rows) {
    RepackScenario on({"n1: A 1000"}, {"a n1 g0:300 cpu=3000"}, make_fraction(500));
    on.inventories.front().host = {.resources = row.all, .pod_slots = row.pod_slots, .known = true};
    on.incoming.host = row.requested;
    const explain::Explanation explanation = explained(on);
    ASSERT_TRUE(explanation.nearest.has_value()) << row.lacking;
    EXPECT_EQ(explanation.nearest->sentence,
              "the GPUs of node n1 have room, but the node " + row.lacking);
  }
}

TEST(NodeSentencesTest, AHostShortfallIsBetweenOtherPodsAndTheOperator) {
  const auto nearest = [](const std::vector<std::string>& nodes,
                          const std::vector<std::string>& pods, std::int64_t cpu_milli) {
    RepackScenario on(nodes, pods, make_fraction(500));
    for (model::NodeInventory& inventory : on.inventories) {
      if (inventory.name.starts_with("cpu")) {
        inventory.host = {.resources = {4000, 1 << 30}, .pod_slots = 110, .known = true};
      }
    }
    on.incoming.host.cpu_milli = cpu_milli;
    const explain::Explanation explanation = explained(on);
    return explanation.nearest ? explanation.nearest->node : "";
  };
  const std::vector<std::string> pods = {"a cpu1 g0:100 cpu=3500", "b cpu2 g0:100 cpu=3000"};
  EXPECT_EQ(nearest({"cpu1: A 1000", "cpu2: A 1000"}, pods, 2000), "cpu2") << "it lacks less";
  EXPECT_EQ(nearest({"cpu1: A 1000", "full: A 1000"}, {pods[0], "c full g0:900"}, 2000), "full");
  EXPECT_EQ(nearest({"cpu1: A 1000", "whole: A 1000 | pool=whole"}, {pods[0]}, 2000), "cpu1");
  EXPECT_EQ(nearest({"cpu1: A 1000", "whole: A 1000 | pool=whole"}, {pods[0]}, 8000), "whole")
      << "cpu1 is too small for the pod";
}

}  // namespace
}  // namespace snug::node_sentences_test
