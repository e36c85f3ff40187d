#include "snug/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/claims.hpp"
#include "support/states.hpp"

namespace snug::plan_test {
namespace {

/// A snapshot of these nodes with these holdings and intents, each put on the node that it names.
class Cluster {
 public:
  explicit Cluster(const std::vector<std::string>& nodes, std::vector<HoldingPtr> holdings = {}) {
    std::vector<NodeStatePtr> states;
    auto names = std::make_shared<NameIndex>();
    for (const std::string& text : nodes) {
      const std::string name = text.substr(0, text.find(':'));
      std::vector<HoldingPtr> on_it;
      for (const HoldingPtr& holding : holdings) {
        if (holding->reservation.node == name) on_it.push_back(holding);
      }
      names->emplace(name, NodeIndex{static_cast<std::uint32_t>(states.size())});
      states.push_back(make_state(text, std::move(on_it)));
    }
    snapshot_.nodes = NodeTable(states);
    snapshot_.names = std::move(names);
  }

  Cluster& intend(const HoldingPtr& intent) {
    const NodeIndex node = snapshot_.names->find(intent->reservation.node).value();
    snapshot_.intents[node.value].push_back(intent);
    return *this;
  }

  [[nodiscard]] Plan plan_for(const GpuRequest& request,
                              const std::vector<std::string_view>& candidates,
                              const Profile& profile = make_profile("best-fit"),
                              std::string_view uid = "asking") const {
    const OwnClaim claim(request, profile, std::string(uid));
    return plan({.snapshot = snapshot_, .claim = claim.view()}, candidates);
  }

  [[nodiscard]] const NodeState& node(std::string_view name) const {
    return *snapshot_.nodes[snapshot_.names->find(name)->value];
  }

 private:
  Snapshot snapshot_;
};

std::string winner(const Plan& plan, const std::vector<std::string_view>& candidates) {
  if (!plan.winner) return "none";
  std::string text(candidates.at(*plan.winner));
  for (const DeviceTake& take : plan.placement.takes) text += " " + std::to_string(take.gpu);
  return text;
}

HoldingPtr half_of(std::string_view node, int gpu, std::string_view uid = "h") {
  return make_holding(uid, node, {make_share(gpu, 20480, 500)});
}

TEST(PlanTest, TiesGoToTheBytewiseLowerNodeNameAndTheLowerGpu) {
  struct Row {
    std::vector<std::string_view> names;
    std::string_view winner;
  };
  for (const Row& row : std::vector<Row>{{{"n1", "n2", "n3"}, "n1"},
                                         {{"n2", "n10", "n1"}, "n1"},
                                         {{"n2", "n10"}, "n10"},
                                         {{"a", "B"}, "B"},
                                         {{"node", "node-"}, "node"},
                                         {{"n-", "n."}, "n-"},
                                         {{"z", "\xC3\xA4"}, "z"}}) {
    std::vector<std::string_view> candidates = row.names;
    std::vector<std::string> nodes;
    for (const std::string_view name : candidates) {
      nodes.push_back(std::string(name) + ": A 40960 x2");
    }
    const Cluster cluster(nodes);
    std::ranges::sort(candidates);
    do {
      const Plan plan = cluster.plan_for(make_fraction(250), candidates);
      EXPECT_EQ(winner(plan, candidates), std::string(row.winner) + " 0");
    } while (std::ranges::next_permutation(candidates).found);
  }
}

TEST(PlanTest, TheScoreDecidesBeforeTheName) {
  const Cluster cluster({"n1: A 40960 x2", "n2: A 40960 x2"}, {half_of("n2", 1)});
  const std::vector<std::string_view> names = {"n1", "n2"};
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), names), names), "n2 1");
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), names, make_profile("spread")), names),
            "n1 0");
  EXPECT_EQ(
      winner(cluster.plan_for(make_fraction(250), names, make_profile("best-fit", -1000)), names),
      "n1 0");
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), names, Profile{}), names), "n1 0")
      << "without terms all placements are equal";
}

TEST(PlanTest, EveryCandidateGetsItsOwnVerdictInItsPlace) {
  const Cluster cluster({"full: A 40960", "small: T 16384", "mig: A 40960 mig", "ok: A 40960",
                         "closed: A 40960 | closed=BadInventory"},
                        {make_holding("w", "full", {make_whole_device(0, 40960)})});
  const std::vector<std::string_view> names = {"closed", "nowhere", "mig", "ok",  "",
                                               "small",  "full",    "ok",  "FULL"};
  const Plan plan = cluster.plan_for(make_memory(20000), names);
  const std::vector<ReasonCode> expected = {
      ReasonCode::kBadInventory, ReasonCode::kUnknownNode, ReasonCode::kWrongMode,
      ReasonCode::kNone,         ReasonCode::kUnknownNode, ReasonCode::kTooLarge,
      ReasonCode::kNoRoom,       ReasonCode::kNone,        ReasonCode::kUnknownNode};
  ASSERT_EQ(plan.verdicts.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(plan.verdicts[i].reason, expected[i]) << i;
  }
  EXPECT_EQ(plan.winner, 3U) << "the first of the same name";
}

TEST(PlanTest, NothingFitsOrNothingIsAsked) {
  const Cluster cluster({"n1: A 40960"}, {half_of("n1", 0)});
  EXPECT_EQ(cluster.plan_for(make_fraction(501), {"n1"}).winner, std::nullopt);
  const Plan none = cluster.plan_for(make_fraction(500), {});
  EXPECT_EQ(none.winner, std::nullopt);
  EXPECT_TRUE(none.verdicts.empty());
}

TEST(PlanTest, TheSameQuestionHasTheSameAnswer) {
  const std::vector<std::string_view> names = {"n3", "n1", "n2"};
  const auto ask = [&names] {
    Cluster cluster({"n1: A 40960 x2", "n2: A 40960 x2", "n3: T 16384"}, {half_of("n1", 1)});
    cluster.intend(half_of("n2", 0, "other"));
    const Plan plan = cluster.plan_for(make_fraction(250), names);
    std::string text = winner(plan, names);
    for (const Verdict& verdict : plan.verdicts) {
      text += " " + std::to_string(verdict.score_class);
    }
    return text;
  };
  const std::string first = ask();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(), first);
}

TEST(PlanIntentTest, ANodeWhoseRoomIsPromisedToOthersDoesNotFit) {
  Cluster cluster({"n1: A 40960", "n2: A 40960", "n3: A 40960"},
                  {half_of("n1", 0), half_of("n3", 0), half_of("n3", 0, "h2")});
  const std::vector<std::string_view> names = {"n1", "n2", "n3"};
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), names), names), "n1 0");
  cluster.intend(half_of("n1", 0, "other")).intend(half_of("n3", 0, "another"));
  const Plan plan = cluster.plan_for(make_fraction(500), names);
  EXPECT_EQ(winner(plan, names), "n2 0");
  EXPECT_EQ(plan.verdicts[0].reason, ReasonCode::kPromised);
  EXPECT_EQ(plan.verdicts[2].reason, ReasonCode::kNoRoom) << "nor would it without the intent";
  EXPECT_EQ(cluster.plan_for(make_fraction(400), {"n1"}).verdicts[0].reason, ReasonCode::kPromised);
}

TEST(PlanIntentTest, APodsOwnIntentDoesNotCountAgainstIt) {
  Cluster cluster({"n1: A 40960", "n2: A 40960"}, {half_of("n1", 0)});
  cluster.intend(half_of("n1", 0, "asking"));
  const std::vector<std::string_view> names = {"n1", "n2"};
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), names), names), "n1 0");
}

TEST(PlanIntentTest, APromisedGpuIsLeftToItsPodWhereTheNodeHasAnother) {
  Cluster cluster({"n1: A 40960 x2"}, {half_of("n1", 0)});
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), {"n1"}), {"n1"}), "n1 0");
  cluster.intend(half_of("n1", 0, "other"));
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), {"n1"}), {"n1"}), "n1 1");
}

TEST(PlanIntentTest, BestFitStacksOnWhatIsPromisedWhereItStillFits) {
  Cluster cluster({"n1: A 40960", "n2: A 40960"});
  cluster.intend(half_of("n2", 0, "other"));
  const std::vector<std::string_view> names = {"n1", "n2"};
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), names), names), "n2 0");
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(500), names, make_profile("spread")), names),
            "n1 0");
}

TEST(PlanIntentTest, AnIntentOfTheOtherKindPromisesTheWholeNode) {
  Cluster cluster({"n1: A 40960 | nvidia.com/gpu=1", "n2: A 40960 | nvidia.com/gpu=1"});
  cluster.intend(make_units_holding("other", "n1", 1));
  const std::vector<std::string_view> names = {"n1", "n2"};
  const Plan plan = cluster.plan_for(make_fraction(500), names);
  EXPECT_EQ(winner(plan, names), "n2 0");
  EXPECT_EQ(plan.verdicts[0].reason, ReasonCode::kPromised);
}

/// A pod that asks for no mode opens an empty GPU in its first one, and does not join it in the
/// mode of a pod that is not there yet.
TEST(PlanIntentTest, NobodyJoinsAPromisedGpuInAModeThatItWouldNotOpen) {
  Cluster cluster({"n1: A 40960 modes=time-slicing+mps"});
  ReservedDevice device = make_share(0, 20480, 500);
  device.mode = GpuMode::kMps;
  cluster.intend(make_holding("other", "n1", {device}));
  EXPECT_EQ(cluster.plan_for(make_fraction(250), {"n1"}).verdicts[0].reason, ReasonCode::kPromised);
}

/// Beside the intent both GPUs look alike, and the second is open in that mode already.
TEST(PlanIntentTest, AGpuThatIsOpenIsFoundBesideOneThatIsPromisedInItsMode) {
  ReservedDevice device = make_share(1, 10240, 250);
  device.mode = GpuMode::kMps;
  Cluster cluster({"n1: A 40960 x2 modes=time-slicing+mps"}, {make_holding("h", "n1", {device})});
  device.index = 0;
  cluster.intend(make_holding("other", "n1", {device}));
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), {"n1"}), {"n1"}), "n1 1");
}

TEST(PlanIntentTest, SlicesStandBesidePromisedOnesOnAnEmptyCard) {
  Cluster cluster({"n1: A100 40960 mig | dynamic"});
  const GpuRequest half = make_profile_ask("3g.20gb");
  const auto start_of = [](const Plan& plan) { return plan.placement.takes.at(0).slice.start; };
  const Plan first = cluster.plan_for(half, {"n1"});
  const OwnClaim claim(half, make_profile("best-fit"), "other");
  cluster.intend(to_holding(cluster.node("n1"), claim.view(), first.placement));
  const Plan second = cluster.plan_for(half, {"n1"});
  ASSERT_EQ(second.verdicts[0].reason, ReasonCode::kNone);
  EXPECT_NE(start_of(first), start_of(second));
  const OwnClaim next(half, make_profile("best-fit"), "next");
  cluster.intend(to_holding(cluster.node("n1"), next.view(), second.placement));
  EXPECT_EQ(cluster.plan_for(half, {"n1"}).verdicts[0].reason, ReasonCode::kPromised);
}

TEST(PlanIntentTest, ANominatedPodWaitsForNoPodThatComesAfterIt) {
  const auto ask = [](std::int32_t priority_of_other, bool nominated) {
    Snapshot snapshot;
    auto names = std::make_shared<NameIndex>();
    names->emplace("n1", NodeIndex{0});
    snapshot.names = std::move(names);
    snapshot.nodes = NodeTable(std::vector{make_state("n1: A 40960", {half_of("n1", 0)})});
    auto other = make_holding("other", "n1", {make_share(0, 20480, 500)});
    other->rank = {.priority = priority_of_other, .created = "", .uid = "other"};
    snapshot.intents[0].push_back(std::move(other));
    OwnClaim claim(make_fraction(500), make_profile("best-fit"), "asking");
    claim.rank.priority = 5;
    if (nominated) {
      snapshot.nominations[0].push_back(std::make_shared<const Nomination>(Nomination{
          .name_space = "default", .node = "n1", .rank = claim.rank, .request = claim.request}));
    }
    const std::vector<std::string_view> candidates = {"n1"};
    return plan({.snapshot = snapshot, .claim = claim.view()}, candidates).verdicts[0].reason;
  };
  EXPECT_EQ(ask(4, true), ReasonCode::kNone);
  EXPECT_EQ(ask(6, true), ReasonCode::kPromised);
  EXPECT_EQ(ask(4, false), ReasonCode::kPromised) << "a higher priority alone takes no promise";
}

TEST(ChooseOnTest, FindsTheBestDevicesOfOneNodeAndSaysWhyNot) {
  const NodeStatePtr node = make_state("n1: A 40960 x3", {half_of("n1", 1)});
  const NodeChoice tight =
      choose_alone(*node, OwnClaim(make_fraction(500), make_profile("best-fit")));
  EXPECT_EQ(tight.reason, ReasonCode::kNone);
  ASSERT_EQ(tight.placement.takes.size(), 1U);
  EXPECT_EQ(tight.placement.takes[0].gpu, 1);
  const NodeChoice wide = choose_alone(*node, OwnClaim(make_fraction(500), make_profile("spread")));
  EXPECT_EQ(wide.placement.takes[0].gpu, 0);
  EXPECT_EQ(choose_alone(*node, OwnClaim(make_whole(3), make_profile("spread"))).reason,
            ReasonCode::kNoRoom);
  EXPECT_EQ(
      choose_alone(*make_state("n1:"), OwnClaim(make_fraction(1), make_profile("spread"))).reason,
      ReasonCode::kNoGpu);
}

Plan ranked(const std::vector<Verdict>& verdicts) {
  Plan plan;
  plan.verdicts = verdicts;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].reason != ReasonCode::kNone) continue;
    if (!plan.winner || verdicts[*plan.winner].score_class < verdicts[i].score_class) {
      plan.winner = i;
    }
  }
  return plan;
}

Verdict fits(std::int64_t score) { return {.score_class = score}; }

TEST(AdviseTest, OnlyTheBestReachesTen) {
  const Verdict refused{.reason = ReasonCode::kNoRoom};
  constexpr std::int64_t kMost = kMaxWeight * kTermBound * 32;
  struct Row {
    std::string_view why;
    std::vector<Verdict> verdicts;
    std::vector<int> scores;
  };
  for (const Row& row : std::vector<Row>{
           {"nobody", {}, {}},
           {"none fits", {refused, refused}, {0, 0}},
           {"one fits", {refused, fits(-7)}, {0, 10}},
           {"equals are all the best", {fits(5), fits(5), fits(5)}, {10, 10, 10}},
           {"in proportion", {fits(0), fits(50), fits(100), fits(25)}, {0, 5, 10, 2}},
           {"nearly the best", {fits(1'000'000), fits(999'999), fits(0)}, {10, 9, 0}},
           {"next to each other", {fits(8), fits(7)}, {10, 0}},
           {"negative", {fits(-100), fits(-200), fits(-150)}, {10, 0, 5}},
           {"the refused do not stretch the scale",
            {refused, fits(100), fits(90), fits(95)},
            {0, 10, 0, 5}},
           {"the ends of the range", {fits(-kMost), fits(kMost), fits(0)}, {0, 10, 5}}}) {
    EXPECT_EQ(advise(ranked(row.verdicts)), row.scores) << row.why;
  }
}

TEST(ReservationTest, SaysTheVeryDevicesOfEachContainer) {
  NodeInventory inventory = make_node("n1: A 40960 x2");
  inventory.gpus[0].index = 4;
  inventory.gpus[1].index = 6;
  const NodeStatePtr node = add_up(std::make_shared<const NodeInventory>(inventory), {});
  const GpuRequest request = make_whole(2);
  const NodeChoice choice = choose_alone(*node, OwnClaim(request, make_profile("best-fit")));
  const Reservation reservation = reservation_by(*node, request, choice.placement, "uid-1");
  EXPECT_EQ(reservation.uid, "uid-1");
  EXPECT_EQ(reservation.node, "n1");
  ASSERT_EQ(reservation.containers.size(), 1U);
  EXPECT_EQ(reservation.containers[0].name, "main");
  EXPECT_EQ(reservation.containers[0].request, "gpu-fraction=2");
  const std::vector<ReservedDevice> expected = {{.index = 4,
                                                 .uuid = gpu_uuid("n1", 0),
                                                 .mode = GpuMode::kWhole,
                                                 .memory = {40960},
                                                 .compute = {1000}},
                                                {.index = 6,
                                                 .uuid = gpu_uuid("n1", 1),
                                                 .mode = GpuMode::kWhole,
                                                 .memory = {40960},
                                                 .compute = {1000}}};
  EXPECT_EQ(std::get<std::vector<ReservedDevice>>(reservation.containers[0].given), expected);
}

TEST(ReservationTest, UnitsOfTheKubeletHaveNoDevices) {
  const NodeStatePtr node = make_state("n1: A 40960 x2 | nvidia.com/gpu=2");
  const GpuRequest request = make_units(2);
  const NodeChoice choice = choose_alone(*node, OwnClaim(request, make_profile("best-fit")));
  const Reservation reservation = reservation_by(*node, request, choice.placement, "uid-1");
  ASSERT_EQ(reservation.containers.size(), 1U);
  EXPECT_EQ(std::get<KubeletUnits>(reservation.containers[0].given),
            (KubeletUnits{"nvidia.com/gpu", 2}));
  EXPECT_EQ(reservation.containers[0].request, "nvidia.com/gpu=2");
}

TEST(ReservationTest, TakingWhatWasPlannedChargesExactlyThat) {
  const NodeStatePtr node = make_state("n1: A 40960 x2", {half_of("n1", 0)});
  for (const GpuRequest& request :
       {make_fraction(333), make_memory(3815), make_whole(1), make_fraction(1)}) {
    const NodeChoice choice = choose_alone(*node, OwnClaim(request, make_profile("best-fit")));
    auto holding = std::make_shared<Holding>();
    holding->uid = "new";
    holding->reservation = reservation_by(*node, request, choice.placement, "new");
    std::vector<HoldingPtr> holdings = node->holdings;
    holdings.push_back(holding);
    const NodeStatePtr after = add_up(node->inventory, holdings);
    for (const DeviceTake& take : choice.placement.takes) {
      EXPECT_EQ(after->gpus[take.gpu].used_memory, node->gpus[take.gpu].used_memory + take.memory);
      EXPECT_EQ(after->gpus[take.gpu].used_compute,
                node->gpus[take.gpu].used_compute + take.compute);
      EXPECT_EQ(after->gpus[take.gpu].closure, GpuClosure::kOpen);
      EXPECT_EQ(after->gpus[take.gpu].mode, take.mode);
    }
  }
}

/// Whoever may write nodes' inventories and a pod's annotations can make comparing all models with
/// all patterns as long as both may be.
TEST(PlanTest, ComparingModelsCountsTowardsWhatOneCallMayCost) {
  constexpr std::size_t kNodes = 1'216;
  constexpr std::size_t kGpus = 64;
  std::vector<std::shared_ptr<const NodeTable::Chunk>> chunks;
  auto names = std::make_shared<NameIndex>();
  std::vector<std::string> kept;
  for (std::size_t first = 0; first < kNodes; first += NodeTable::kChunk) {
    auto chunk = std::make_shared<NodeTable::Chunk>();
    chunk->versions.fill(1);
    for (std::size_t n = first; n < first + NodeTable::kChunk; ++n) {
      auto node = std::make_shared<NodeInventory>();
      node->name = "n" + std::to_string(10'000 + n);
      for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
        node->gpus.push_back({.index = static_cast<int>(gpu),
                              .model = "M" + std::to_string(n * kGpus + gpu),
                              .memory = {40960},
                              .modes = {GpuMode::kTimeSlicing}});
      }
      names->emplace(node->name, NodeIndex{static_cast<std::uint32_t>(n)});
      kept.push_back(node->name);
      chunk->states.at(n - first) = add_up(std::move(node), {});
    }
    chunks.push_back(std::move(chunk));
  }
  Snapshot snapshot;
  snapshot.nodes = NodeTable(std::move(chunks), kNodes);
  snapshot.names = std::move(names);
  GpuRequest request = make_fraction(100);
  request.containers.resize(8, request.containers.front());
  for (ContainerRequest& asked : request.containers) {
    asked.models.wanted = {std::string(250, '?'), "M77823"};  // the last GPU of all
  }
  const std::vector<std::string_view> candidates(kept.begin(), kept.end());
  const OwnClaim claim(request);
  PlanMemo memo;
  const PlanInput input{.snapshot = snapshot, .claim = claim.view(), .memo = &memo};
  const Plan first = plan(input, candidates);
  EXPECT_FALSE(first.winner);
  EXPECT_EQ(first.verdicts.front().reason, ReasonCode::kModelExcluded);
  EXPECT_EQ(first.verdicts.back().reason, kNotJudged);
  const Plan second = plan(input, candidates);
  ASSERT_TRUE(second.winner) << "the rest is judged in the next call";
  EXPECT_EQ(*second.winner, kNodes - 1);
}

}  // namespace
}  // namespace snug::plan_test
