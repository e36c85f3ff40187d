#include "snug/plan/choose_victims.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/preemption_scenario.hpp"

namespace snug::preempt_test {
namespace {

using Uids = std::vector<std::string>;

constexpr const char* kOneGpu = "n: A 1000";
constexpr const char* kTwoGpus = "n: A 1000 x2";

struct Row {
  const char* why;
  const char* node;
  std::vector<std::string> pods;
  model::GpuRequest asked;
  std::vector<std::string_view> chosen;
  Uids victims;
};

/// On nodes whose cpu and memory are not known.
void expect_rows(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(PreemptionScenario(row.node, row.pods, row.asked).victims(row.chosen), row.victims)
        << row.why;
  }
}

TEST(PreemptTest, RoomOnAGpuIsMadeByTheLowestAndTheFewest) {
  expect_rows({
      {"the only one", kOneGpu, {"a 0 g0:700"}, make_fraction(500), {}, {"a"}},
      {"it fits already", kOneGpu, {"a 0 g0:500"}, make_fraction(500), {}, {}},
      {"an equal is no victim", kOneGpu, {"a 10 g0:700"}, make_fraction(500), {}, {}},
      {"nor is a higher one", kOneGpu, {"a 11 g0:300", "b 0 g0:300"}, make_fraction(800), {}, {}},
      {"beside a higher one",
       kOneGpu,
       {"a 11 g0:300", "b 0 g0:300"},
       make_fraction(500),
       {},
       {"b"}},
      {"the lower priority", kTwoGpus, {"a 5 g0:900", "b 4 g1:900"}, make_fraction(500), {}, {"b"}},
      {"two low ones rather than a higher one",
       kTwoGpus,
       {"a 5 g0:900", "b 4 g1:300", "c 4 g1:300", "d 4 g1:300"},
       make_fraction(600),
       {},
       {"b", "c"}},
      {"one rather than two",
       kTwoGpus,
       {"a 4 g0:300", "b 4 g0:700", "c 4 g1:500", "d 4 g1:500"},
       make_fraction(600),
       {},
       {"b"}},
      {"the lower sum",
       kTwoGpus,
       {"a 4 g0:500", "b 4 g0:500", "c 4 g1:500", "d 3 g1:500"},
       make_fraction(900),
       {},
       {"c", "d"}},
      {"the younger",
       kTwoGpus,
       {"a 4 g0:700 @2026-01", "b 4 g1:700 @2026-02"},
       make_fraction(500),
       {},
       {"b"}},
      {"who never said when is the youngest",
       kTwoGpus,
       {"a 4 g0:700 @", "b 4 g1:700 @2026-02"},
       make_fraction(500),
       {},
       {"a"}},
      {"the lower uid", kTwoGpus, {"b 4 g0:700", "a 4 g1:700"}, make_fraction(500), {}, {"a"}},
  });
}

TEST(PreemptTest, WholeGpusAndSeveralAreFreedWithTheFewestPods) {
  const char* four = "n: A 1000 x4";
  expect_rows({
      {"shares of several against one whole",
       kTwoGpus,
       {"a 0 g0:300", "b 0 g0:300", "c 0 w1"},
       make_whole(1),
       {},
       {"c"}},
      {"shares of several, lower than one whole",
       kTwoGpus,
       {"a 0 g0:300", "b 0 g0:300", "c 1 w1"},
       make_whole(1),
       {},
       {"a", "b"}},
      {"one that holds two", four, {"a 0 w0", "b 0 w1", "c 0 w2 w3"}, make_whole(2), {}, {"c"}},
      {"a free one is used", four, {"a 1 w0", "b 0 w1", "c 0 w2"}, make_whole(2), {}, {"b"}},
      {"not enough of them", kTwoGpus, {"a 0 w0"}, make_whole(3), {}, {}},
      {"one stays", kTwoGpus, {"a 0 w0", "b 10 w1"}, make_whole(2), {}, {}},
  });
}

TEST(PreemptTest, UnitsOfTheKubeletAndTheOtherKindOfPodsAreFreed) {
  const char* node = "n: A 1000 x2 | nvidia.com/gpu=2";
  expect_rows({
      {"the fewest units", node, {"a 0 u1", "b 1 u1"}, make_units(1), {}, {"a"}},
      {"all units", node, {"a 0 u1", "b 1 u1"}, make_units(2), {}, {"b", "a"}},
      {"too many units", node, {"a 0 u2"}, make_units(3), {}, {}},
      {"pods with devices stand in the way",
       node,
       {"a 0 g0:500", "b 1 g1:100"},
       make_units(1),
       {},
       {"b", "a"}},
      {"one of them stays", node, {"a 0 g0:500", "b 10 g1:100"}, make_units(1), {}, {}},
      {"pods with units stand in the way",
       node,
       {"a 0 u1", "b 3 u1"},
       make_fraction(500),
       {},
       {"b", "a"}},
  });
}

TEST(PreemptTest, WhatEvictionCannotHelpEvictsNobody) {
  expect_rows({
      {"a larger request than the GPU", kOneGpu, {"a 0 w0"}, make_memory(2000), {"a"}, {}},
      {"the node's pool", "n: A 1000 | pool=whole", {"a 0 u1"}, make_fraction(500), {"a"}, {}},
      {"a higher one that was chosen", kOneGpu, {"a 11 w0", "b 0"}, make_fraction(500), {"a"}, {}},
  });
}

TEST(PreemptTest, CpuShortOnly) {
  PreemptionScenario on(kTwoGpus, {"a 0 cpu=3000 g0:100", "b 0 cpu=1000", "c 1 cpu=4000"},
                        make_fraction(500));
  on.host(8000, 100, 10).request_host(2000);
  EXPECT_EQ(on.victims({"a"}), Uids{"a"}) << "what suffices stays as it was chosen";
  EXPECT_EQ(on.victims(), Uids{"a"}) << "b alone does not suffice";
  on.request_host(1000);
  EXPECT_EQ(on.victims(), Uids{"a"}) << "of equals the lower uid";
  EXPECT_EQ(on.victims({"b"}), Uids{"b"});
  on.request_host(0);
  EXPECT_EQ(on.victims(), Uids{}) << "nothing is missing";
}

TEST(PreemptTest, MemoryAndPlacesCountAsCpuDoes) {
  PreemptionScenario memory(kTwoGpus, {"a 1 mem=60", "b 0 mem=30"}, make_fraction(500));
  memory.host(1, 100, 10).request_host(0, 50);
  EXPECT_EQ(memory.victims(), Uids{"a"});
  memory.request_host(0, 40);
  EXPECT_EQ(memory.victims(), Uids{"b"});
  PreemptionScenario places(kTwoGpus, {"a 1", "b 0"}, make_fraction(500));
  places.host(1, 100, 2);
  EXPECT_EQ(places.victims(), Uids{"b"});
}

TEST(PreemptTest, AsInKubeSchedulerNothingIsMissingOfWhatNothingIsAskedOf) {
  PreemptionScenario on(kOneGpu, {"a 0 cpu=9000"}, make_fraction(500));
  on.host(8000, 100, 10).request_host(0);
  EXPECT_EQ(on.victims(), Uids{});
}

TEST(PreemptTest, BothShort) {
  PreemptionScenario on(kOneGpu, {"a 0 cpu=4000", "b 0 g0:700 cpu=1000", "c 5 cpu=3000"},
                        make_fraction(500));
  on.host(8000, 100, 10).request_host(4000);
  EXPECT_EQ(on.victims({"a"}), (Uids{"a", "b"}));
  EXPECT_EQ(on.victims(), (Uids{"a", "b"}));
}

TEST(PreemptTest, AVictimThatFreesBothMakesTheChosenOneNeedless) {
  PreemptionScenario on(kOneGpu, {"a 0 cpu=4000", "b 0 g0:700 cpu=4000"}, make_fraction(500));
  on.host(8000, 100, 10).request_host(4000);
  EXPECT_EQ(on.victims({"a"}), Uids{"b"});
}

TEST(PreemptTest, TheChosenStayWhereTheirReasonIsNotSure) {
  const std::vector<std::string> pods{"a 0 cpu=4000", "b 0 g0:700 cpu=4000"};
  const Uids both{"a", "b"};
  PreemptionScenario on(kOneGpu, pods, make_fraction(500));
  on.request_host(4000);
  EXPECT_EQ(on.victims({"a"}), both) << "the node's cpu is not known";
  on.host(8000, 100, 10);
  on.has_other_constraints = true;
  EXPECT_EQ(on.victims({"a"}), both) << "the pod has other constraints";
  on.has_other_constraints = false;
  EXPECT_EQ(on.victims({"a", "lost"}), (Uids{"a", "b", "lost"})) << "one is not known here";
  on.request_host(0);
  EXPECT_EQ(on.victims({"a"}), both) << "nothing known here was the reason";
  PreemptionScenario tied(kOneGpu, {"a 0 cpu=4000 tied", "b 0 g0:700 cpu=4000"},
                          make_fraction(500));
  tied.host(8000, 100, 10).request_host(4000);
  EXPECT_EQ(tied.victims({"a"}), both) << "a chosen one has other constraints";
}

TEST(PreemptTest, TheResourcesThatMirrorSharesExplainAChosenVictim) {
  PreemptionScenario on(kTwoGpus, {"a 0 g0:600 milli=600", "b 0 w1 milli=1000"}, make_whole(1));
  on.host(8000, 100, 10).mirror(2000, 2000).request_mirrored(1000);
  EXPECT_EQ(on.victims({"a"}), Uids{"a"}) << "what suffices stays as it was chosen";
  PreemptionScenario large(kTwoGpus,
                           {"a 0 g0:300 milli=300", "b 1 g0:300 milli=300", "c 1 w1 milli=1000"},
                           make_whole(1));
  large.host(8000, 100, 10).mirror(2000, 2000).request_mirrored(1000);
  EXPECT_EQ(large.victims({"a", "b"}), (Uids{"b", "a"})) << "both free GPU 0";
  PreemptionScenario scattered(kTwoGpus,
                               {"a 0 g0:500 milli=500", "b 0 g1:500 milli=500",
                                "c 0 g1:500 milli=500", "d 9 g0:500 milli=500"},
                               make_whole(1));
  scattered.host(8000, 100, 10).mirror(2000, 2000).request_mirrored(1000);
  EXPECT_EQ(scattered.victims({"a", "b"}), (Uids{"b", "c"})) << "a is spared: it frees no GPU";
  scattered.mirror(3000, 3000);
  EXPECT_EQ(scattered.victims({"a", "b"}), (Uids{"a", "b", "c"})) << "why a was chosen is unknown";
}

TEST(PreemptTest, AVictimThatCarriesMirroredResourcesIsSparedLikeAnyOther) {
  PreemptionScenario on(kOneGpu, {"a 0 cpu=4000 milli=100", "b 0 g0:700 cpu=4000 milli=700"},
                        make_fraction(500));
  on.host(8000, 100, 10).mirror(1000, 1000).request_host(4000).request_mirrored(500, 500);
  EXPECT_EQ(on.victims({"a"}), Uids{"b"});
}

TEST(PreemptTest, ThePodFitsOnlyIfItsMirroredResourcesFit) {
  PreemptionScenario on(kTwoGpus, {"a 0 g0:500 milli=1500", "b 5 g1:500 milli=500"},
                        make_fraction(500));
  on.host(8000, 100, 10).mirror(2000, 2000).request_mirrored(500);
  EXPECT_EQ(on.victims(), Uids{"a"});
  on.request_mirrored(3000);
  EXPECT_EQ(on.victims({"a"}), Uids{}) << "more than the node has";
  on.request_mirrored(0);
  EXPECT_EQ(on.victims(), Uids{}) << "nothing is missing of what nothing is asked of";
}

TEST(PreemptTest, OfEqualsTheChosenGo) {
  PreemptionScenario on(kTwoGpus,
                        {"a 0 g0:700 cpu=3000", "b 0 g1:700 cpu=3000", "c 0 g1:300 cpu=2000"},
                        make_fraction(800));
  on.host(8000, 100, 10).request_host(2000);
  EXPECT_EQ(on.victims(), Uids{"a"});
  EXPECT_EQ(on.victims({"b"}), Uids{"a"}) << "with b it would take c too";
  PreemptionScenario equal(kTwoGpus, {"a 0 w0", "b 0 w1", "c 0 cpu=1000"}, make_fraction(800));
  EXPECT_EQ(equal.victims({"b"}), Uids{"b"});
}

TEST(PreemptTest, TerminatingPodsCostNothingAndAreNamedWhereTheyAreNeeded) {
  expect_rows({
      {"it ends anyway",
       kTwoGpus,
       {"a 0 g0:700", "b 9 g1:700 ending"},
       make_fraction(500),
       {},
       {"b"}},
      {"it is not needed",
       kTwoGpus,
       {"a 0 g0:700", "b 0 g1:700", "c 0 g1:300 ending"},
       make_fraction(500),
       {"a"},
       {"a"}},
      {"beside one that lives",
       kOneGpu,
       {"a 0 g0:400", "b 5 g0:600 ending"},
       make_fraction(600),
       {},
       {"b"}},
      {"both are needed",
       kOneGpu,
       {"a 0 g0:400", "b 5 g0:600 ending"},
       make_fraction(900),
       {},
       {"b", "a"}},
      {"a higher one is waited for by nobody",
       kOneGpu,
       {"a 0 g0:400", "b 11 g0:600 ending"},
       make_fraction(900),
       {},
       {}},
  });
  PreemptionScenario on(kTwoGpus, {"a 0 cpu=4000", "b 5 cpu=4000 ending"}, make_fraction(500));
  on.host(8000, 100, 10).request_host(4000);
  EXPECT_EQ(on.victims({"a"}), Uids{"b"}) << "kube-scheduler counts it as if it stayed";
  EXPECT_EQ(on.victims({"b"}), Uids{"b"});
}

TEST(PreemptTest, NominatedPodsThatComeFirstKeepTheirPlace) {
  PreemptionScenario on(kTwoGpus, {"a 0 g0:700", "b 5 g1:700"}, make_fraction(500));
  EXPECT_EQ(on.victims(), Uids{"a"});
  on.nominate(make_fraction(800), {.priority = 12, .created = {}, .uid = "first"});
  EXPECT_EQ(on.victims(), (Uids{"b", "a"}));
  PreemptionScenario later(kTwoGpus, {"a 0 g0:700", "b 5 g1:700"}, make_fraction(500));
  later.nominate(make_fraction(800), {.priority = 8, .created = {}, .uid = "later"});
  EXPECT_EQ(later.victims(), Uids{"a"}) << "it comes after";
  PreemptionScenario own(kTwoGpus, {"a 0 g0:700", "b 5 g1:700"}, make_fraction(500));
  own.nominate(make_fraction(500), {.priority = 10, .created = "2026", .uid = "new"});
  EXPECT_EQ(own.victims(), Uids{"a"}) << "its own nomination";
}

TEST(PreemptTest, TheHostResourcesOfNominatedPodsCountAsInKubeScheduler) {
  const std::vector<std::string> pods{"a 0 cpu=4000", "b 0 g0:700 cpu=4000", "c 0 cpu=1000"};
  const Uids all{"a", "b", "c"};
  const model::GpuRequest small = make_fraction(10);
  const auto beside = [&](std::int32_t priority, const std::string& uid, std::int64_t cpu) {
    PreemptionScenario on(kOneGpu, pods, make_fraction(500));
    on.host(9000, 100, 10).request_host(4000);
    // As old as the preemptor, and after it by uid: kube-scheduler's rule ignores age.
    on.nominate(small, {.priority = priority, .created = "2026", .uid = uid}, {.cpu_milli = cpu});
    return on;
  };
  EXPECT_EQ(beside(12, "first", 0).victims({"a"}), Uids{"b"}) << "it needs no cpu";
  EXPECT_EQ(beside(12, "first", 4000).victims({"a", "b"}), (Uids{"a", "b"}));
  EXPECT_EQ(beside(10, "peer", 5000).victims({"a", "b", "c"}), all) << "all are needed beside it";
  EXPECT_EQ(beside(9, "later", 5000).victims({"a"}), Uids{"b"}) << "it has a lower priority";
  EXPECT_EQ(beside(10, "new", 5000).victims({"a"}), Uids{"b"}) << "its own nomination";
  EXPECT_EQ(beside(9, "later", 5000).victims({"a", "b", "c"}), all) << "nothing known explains c";
}

TEST(PreemptTest, TheMemoryAndThePodSlotOfANominatedPodCount) {
  // Two pods must go for a pod that needs one slot, or 10 bytes, beside the nominated one. Without
  // the nominated one, nothing known would explain the second.
  const std::vector<std::string> pods{"a 0 mem=10", "b 0 mem=10", "x 0 mem=10 ending"};
  const auto on_node = [&](std::int64_t memory, std::int64_t slots) {
    PreemptionScenario on(kOneGpu, pods, make_fraction(500));
    on.host(8000, memory, slots).request_host(0, 10);
    on.nominate(make_fraction(10), {.priority = 12, .created = {}, .uid = "first"},
                {.memory_bytes = 10});
    return on.victims({"a", "b"});
  };
  EXPECT_EQ(on_node(30, 100), (Uids{"b", "x"})) << "memory";
  EXPECT_EQ(on_node(1000, 3), (Uids{"b", "x"})) << "pod slots";
}

TEST(PreemptTest, ANominatedPodThatFitsAtOnceGetsNoGpuOfVictims) {
  // It starts on GPU 0 before b has ended, so that the end of b alone frees no whole GPU.
  PreemptionScenario on(kTwoGpus, {"a 1 g1:400", "b 1 g1:600"}, make_whole(1));
  on.nominate(make_fraction(500), {.priority = 10, .created = "2025", .uid = "first"});
  const Uids both{"a", "b"};
  for (const auto& chosen : std::vector<std::vector<std::string_view>>{{}, {"a"}, {"b"}}) {
    EXPECT_EQ(on.victims(chosen), both);
  }
  PreemptionScenario fixed(kTwoGpus, {"a 11 g1:400", "b 1 g1:600"}, make_whole(1));
  fixed.nominate(make_fraction(500), {.priority = 10, .created = "2025", .uid = "first"});
  EXPECT_EQ(fixed.victims({"b"}), Uids{}) << "nobody need die in vain";
}

TEST(PreemptTest, OnlyOneHalfGoesBesideANominatedPodWhoseLastVictimIsEnding) {
  // The nominated pod waits for x alone; kube-scheduler spared x and chose both halves of the
  // other GPU.
  PreemptionScenario on(
      kTwoGpus, {"x 0 g0:500 milli=500 ending", "a 0 g1:500 milli=500", "b 0 g1:500 milli=500"},
      make_fraction(500));
  on.host(8000, 100, 10).mirror(2000, 2000).request_mirrored(500);
  on.nominate(make_whole(1), {.priority = 10, .created = "2025", .uid = "first"}, {},
              {.milli = {1000}, .memory = {}});
  EXPECT_EQ(on.victims({"a", "b"}), (Uids{"b", "x"}));
  EXPECT_EQ(on.victims({"x", "a"}), (Uids{"a", "x"}));
}

TEST(PreemptTest, NobodyGoesForWhatANominatedPodCouldHaveOnlyAfterTooManyEvictions) {
  // Without b and c the nominated pod could start at once, and then a would have to go for it.
  PreemptionScenario on(kTwoGpus, {"a 0 w0", "b 1 g1:600", "c 1 g1:100"}, make_fraction(400));
  on.nominate(make_whole(1), {.priority = 12, .created = {}, .uid = "first"});
  EXPECT_EQ(on.victims(), Uids{"b"});
}

TEST(PreemptTest, ThoseThatKubeSchedulerMayNotKnowAreSparedUnlessItChoseThem) {
  const PreemptionScenario on(kTwoGpus, {"a 0 g0:700", "b 5 g1:700"}, make_fraction(500));
  EXPECT_EQ(on.victims({}, {"a"}), Uids{"b"});
  EXPECT_EQ(on.victims({}, {"a", "b"}), Uids{});
  EXPECT_EQ(on.victims({"a"}, {"a"}), Uids{"a"});
}

TEST(PreemptTest, UnknownVictimsAreKeptAndComeLast) {
  const PreemptionScenario on(kOneGpu, {"a 0 g0:700"}, make_fraction(500));
  EXPECT_EQ(on.victims({"lost", "a"}), (Uids{"a", "lost"}));
  const PreemptionScenario empty(kOneGpu, {}, make_fraction(500));
  EXPECT_EQ(empty.victims({"lost"}), Uids{"lost"});
}

TEST(PreemptTest, PodsThatAreOnlyCountedKeepWhatTheyHaveOfTheHost) {
  PreemptionScenario on(kOneGpu, {"a 0 cpu=1000 g0:700", "b 0 cpu=3000 g0:100"},
                        make_fraction(500));
  on.host(8000, 100, 10).request_host(2000);
  EXPECT_EQ(on.victims(), Uids{"a"});
  on.unlisted = {.requested = {.cpu_milli = 3500, .memory_bytes = 0}, .pod_count = 3, .listed = {}};
  EXPECT_EQ(on.victims(), (Uids{"a", "b"})) << "a for the GPU, b for the cpu";
  on.unlisted.pod_count = 9;
  EXPECT_EQ(on.victims(), (Uids{"a", "b"})) << "and their places";
  on.unlisted.pod_count = 10;
  EXPECT_EQ(on.victims(), Uids{}) << "nobody who may go can help";
}

TEST(PreemptTest, ManyPodsAreChosenFromWithoutTryingAllOfTheirSets) {
  std::vector<std::string> pods;
  for (int gpu = 0; gpu < 8; ++gpu) {
    for (int i = 0; i < 6; ++i) {
      const std::string uid = "p" + std::to_string(gpu) + std::to_string(i);
      pods.push_back(uid + " 0 g" + std::to_string(gpu) + ":" + (gpu == 5 ? "120" : "160"));
    }
  }
  pods.emplace_back("big 0 g5:220");
  for (int i = 0; i < 100; ++i) pods.push_back("c" + std::to_string(i) + " 0 cpu=10");
  PreemptionScenario on("n: A 1000 x8", pods, make_fraction(300));
  on.host(1'000, 100, 200);
  EXPECT_EQ(on.victims().size(), 2U) << "big and one that is small, or any two of others";
  PreemptionScenario all("n: A 1000 x8", pods, make_whole(2));
  EXPECT_EQ(all.victims().size(), 12U) << "two GPUs, and not the one with seven pods";
  on.request_host(500);
  EXPECT_EQ(on.victims().size(), 52U);
}

}  // namespace
}  // namespace snug::preempt_test
