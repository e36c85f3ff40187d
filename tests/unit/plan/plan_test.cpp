#include "snug/plan/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::plan_test {
namespace {

/// A snapshot of these nodes with these holdings and intents, each put on the node that it names.
class Cluster {
 public:
  explicit Cluster(const std::vector<std::string>& nodes,
                   std::vector<model::HoldingPtr> holdings = {}) {
    std::vector<model::NodeStatePtr> states;
    auto names = std::make_shared<model::NameIndex>();
    for (const std::string& text : nodes) {
      const std::string name = text.substr(0, text.find(':'));
      std::vector<model::HoldingPtr> on_it;
      for (const model::HoldingPtr& holding : holdings) {
        if (holding->reservation.node == name) on_it.push_back(holding);
      }
      names->emplace(name, base::NodeIndex{static_cast<std::uint32_t>(states.size())});
      states.push_back(make_state(text, std::move(on_it)));
    }
    snapshot_.nodes = model::NodeTable(states);
    snapshot_.names = std::move(names);
  }

  Cluster& intend(const model::HoldingPtr& intent) {
    const base::NodeIndex node = snapshot_.names->find(intent->reservation.node).value();
    snapshot_.intents[node.value].push_back(intent);
    return *this;
  }

  [[nodiscard]] plan::Plan plan_for(const model::GpuRequest& request,
                                    const std::vector<std::string_view>& candidates,
                                    const score::Profile& profile = make_profile("best-fit"),
                                    std::string_view uid = "asking") const {
    const OwnedIncomingPod claim(request, profile, std::string(uid));
    return plan::plan({.snapshot = snapshot_, .incoming = claim.view()}, candidates);
  }

  [[nodiscard]] const model::NodeState& node(std::string_view name) const {
    return *snapshot_.nodes[snapshot_.names->find(name)->value];
  }

 private:
  model::Snapshot snapshot_;
};

std::string winner(const plan::Plan& plan, const std::vector<std::string_view>& candidates) {
  if (!plan.winner) return "none";
  std::string text(candidates.at(*plan.winner));
  for (const model::DeviceAllocation& allocation : plan.placement.allocations)
    text += " " + std::to_string(allocation.gpu);
  return text;
}

model::HoldingPtr half_of(std::string_view node, int gpu, std::string_view uid = "h") {
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
      const plan::Plan plan = cluster.plan_for(make_fraction(250), candidates);
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
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), names, score::Profile{}), names), "n1 0")
      << "without terms all placements are equal";
}

TEST(PlanTest, EveryCandidateGetsItsOwnVerdictInItsPlace) {
  const Cluster cluster({"full: A 40960", "small: T 16384", "mig: A 40960 mig", "ok: A 40960",
                         "closed: A 40960 | closed=BadInventory"},
                        {make_holding("w", "full", {make_whole_device(0, 40960)})});
  const std::vector<std::string_view> names = {"closed", "nowhere", "mig", "ok",  "",
                                               "small",  "full",    "ok",  "FULL"};
  const plan::Plan plan = cluster.plan_for(make_memory(20000), names);
  const std::vector<model::ReasonCode> expected = {
      model::ReasonCode::kBadInventory, model::ReasonCode::kUnknownNode,
      model::ReasonCode::kWrongMode,    model::ReasonCode::kNone,
      model::ReasonCode::kUnknownNode,  model::ReasonCode::kTooLarge,
      model::ReasonCode::kNoRoom,       model::ReasonCode::kNone,
      model::ReasonCode::kUnknownNode};
  ASSERT_EQ(plan.verdicts.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(plan.verdicts[i].reason, expected[i]) << i;
  }
  EXPECT_EQ(plan.winner, 3U) << "the first of the same name";
}

TEST(PlanTest, NothingFitsOrNothingIsAsked) {
  const Cluster cluster({"n1: A 40960"}, {half_of("n1", 0)});
  EXPECT_EQ(cluster.plan_for(make_fraction(501), {"n1"}).winner, std::nullopt);
  const plan::Plan none = cluster.plan_for(make_fraction(500), {});
  EXPECT_EQ(none.winner, std::nullopt);
  EXPECT_TRUE(none.verdicts.empty());
}

TEST(PlanTest, TheMainReasonIsThatOtherPodsAreInTheWayIfAnyCandidateHasIt) {
  using enum model::ReasonCode;
  struct Row {
    std::vector<model::ReasonCode> reasons;
    model::ReasonCode main;
  };
  for (const Row& row : {Row{{}, kNone}, Row{{kTooLarge, kTooLarge, kNoRoom}, kNoRoom},
                         Row{{kNoRoom, kNoRoom, kPromised}, kPromised},
                         Row{{kTooLarge, kTooLarge, kOtherKind}, kOtherKind},
                         Row{{kWrongPool, kModelExcluded, kModelExcluded}, kModelExcluded}}) {
    std::vector<plan::Verdict> verdicts;
    for (const model::ReasonCode reason : row.reasons) verdicts.push_back({.reason = reason});
    EXPECT_EQ(plan::main_reason(verdicts), row.main);
  }
}

TEST(PlanTest, TheSameQuestionHasTheSameAnswer) {
  const std::vector<std::string_view> names = {"n3", "n1", "n2"};
  const auto ask = [&names] {
    Cluster cluster({"n1: A 40960 x2", "n2: A 40960 x2", "n3: T 16384"}, {half_of("n1", 1)});
    cluster.intend(half_of("n2", 0, "other"));
    const plan::Plan plan = cluster.plan_for(make_fraction(250), names);
    std::string text = winner(plan, names);
    for (const plan::Verdict& verdict : plan.verdicts) {
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
  const plan::Plan plan = cluster.plan_for(make_fraction(500), names);
  EXPECT_EQ(winner(plan, names), "n2 0");
  EXPECT_EQ(plan.verdicts[0].reason, model::ReasonCode::kPromised);
  EXPECT_EQ(plan.verdicts[2].reason, model::ReasonCode::kNoRoom)
      << "nor would it without the intent";
  EXPECT_EQ(cluster.plan_for(make_fraction(400), {"n1"}).verdicts[0].reason,
            model::ReasonCode::kPromised);
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
  const plan::Plan plan = cluster.plan_for(make_fraction(500), names);
  EXPECT_EQ(winner(plan, names), "n2 0");
  EXPECT_EQ(plan.verdicts[0].reason, model::ReasonCode::kPromised);
}

/// A pod that asks for no mode opens an empty GPU in its first one, and does not join it in the
/// mode of a pod that is not there yet.
TEST(PlanIntentTest, NobodyJoinsAPromisedGpuInAModeThatItWouldNotOpen) {
  Cluster cluster({"n1: A 40960 modes=time-slicing+mps"});
  model::ReservedDevice device = make_share(0, 20480, 500);
  device.mode = model::GpuMode::kMps;
  cluster.intend(make_holding("other", "n1", {device}));
  EXPECT_EQ(cluster.plan_for(make_fraction(250), {"n1"}).verdicts[0].reason,
            model::ReasonCode::kPromised);
}

/// Beside the intent both GPUs look alike, and the second is open in that mode already.
TEST(PlanIntentTest, AGpuThatIsOpenIsFoundBesideOneThatIsPromisedInItsMode) {
  model::ReservedDevice device = make_share(1, 10240, 250);
  device.mode = model::GpuMode::kMps;
  Cluster cluster({"n1: A 40960 x2 modes=time-slicing+mps"}, {make_holding("h", "n1", {device})});
  device.index = 0;
  cluster.intend(make_holding("other", "n1", {device}));
  EXPECT_EQ(winner(cluster.plan_for(make_fraction(250), {"n1"}), {"n1"}), "n1 1");
}

TEST(PlanIntentTest, SlicesStandBesidePromisedOnesOnAnEmptyCard) {
  Cluster cluster({"n1: A100 40960 mig | dynamic"});
  const model::GpuRequest half = make_slice_request("3g.20gb");
  const auto start_of = [](const plan::Plan& plan) {
    return plan.placement.allocations.at(0).slice.start;
  };
  const plan::Plan first = cluster.plan_for(half, {"n1"});
  const OwnedIncomingPod claim(half, make_profile("best-fit"), "other");
  cluster.intend(plan::to_holding(cluster.node("n1"), claim.view(), first.placement));
  const plan::Plan second = cluster.plan_for(half, {"n1"});
  ASSERT_EQ(second.verdicts[0].reason, model::ReasonCode::kNone);
  EXPECT_NE(start_of(first), start_of(second));
  const OwnedIncomingPod next(half, make_profile("best-fit"), "next");
  cluster.intend(plan::to_holding(cluster.node("n1"), next.view(), second.placement));
  EXPECT_EQ(cluster.plan_for(half, {"n1"}).verdicts[0].reason, model::ReasonCode::kPromised);
}

TEST(PlanIntentTest, ANominatedPodWaitsForNoPodThatComesAfterIt) {
  const auto ask = [](std::int32_t priority_of_other, bool nominated) {
    model::Snapshot snapshot;
    auto names = std::make_shared<model::NameIndex>();
    names->emplace("n1", base::NodeIndex{0});
    snapshot.names = std::move(names);
    snapshot.nodes = model::NodeTable(std::vector{make_state("n1: A 40960", {half_of("n1", 0)})});
    auto other = make_holding("other", "n1", {make_share(0, 20480, 500)});
    other->rank = {.priority = priority_of_other, .created = "", .uid = "other"};
    snapshot.intents[0].push_back(std::move(other));
    OwnedIncomingPod claim(make_fraction(500), make_profile("best-fit"), "asking");
    claim.rank.priority = 5;
    if (nominated) {
      snapshot.nominations[0].push_back(std::make_shared<const model::Nomination>(model::Nomination{
          .name_space = "default", .node = "n1", .rank = claim.rank, .request = claim.request}));
    }
    const std::vector<std::string_view> candidates = {"n1"};
    return plan::plan({.snapshot = snapshot, .incoming = claim.view()}, candidates)
        .verdicts[0]
        .reason;
  };
  EXPECT_EQ(ask(4, true), model::ReasonCode::kNone);
  EXPECT_EQ(ask(6, true), model::ReasonCode::kPromised);
  EXPECT_EQ(ask(4, false), model::ReasonCode::kPromised)
      << "a higher priority alone takes no promise";
}

TEST(ChooseOnTest, FindsTheBestDevicesOfOneNodeAndSaysWhyNot) {
  const model::NodeStatePtr node = make_state("n1: A 40960 x3", {half_of("n1", 1)});
  const plan::NodeChoice tight =
      choose_without_others(*node, OwnedIncomingPod(make_fraction(500), make_profile("best-fit")));
  EXPECT_EQ(tight.reason, model::ReasonCode::kNone);
  ASSERT_EQ(tight.placement.allocations.size(), 1U);
  EXPECT_EQ(tight.placement.allocations[0].gpu, 1);
  const plan::NodeChoice wide =
      choose_without_others(*node, OwnedIncomingPod(make_fraction(500), make_profile("spread")));
  EXPECT_EQ(wide.placement.allocations[0].gpu, 0);
  EXPECT_EQ(
      choose_without_others(*node, OwnedIncomingPod(make_whole(3), make_profile("spread"))).reason,
      model::ReasonCode::kNoRoom);
  EXPECT_EQ(choose_without_others(*make_state("n1:"),
                                  OwnedIncomingPod(make_fraction(1), make_profile("spread")))
                .reason,
            model::ReasonCode::kNoGpu);
}

plan::Plan ranked(const std::vector<plan::Verdict>& verdicts) {
  plan::Plan plan;
  plan.verdicts = verdicts;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].reason != model::ReasonCode::kNone) continue;
    if (!plan.winner || verdicts[*plan.winner].score_class < verdicts[i].score_class) {
      plan.winner = i;
    }
  }
  return plan;
}

plan::Verdict fits(std::int64_t score) { return {.score_class = score}; }

TEST(AdviseTest, OnlyTheBestReachesTen) {
  const plan::Verdict refused{.reason = model::ReasonCode::kNoRoom};
  constexpr std::int64_t kMost = score::kMaxWeight * score::kTermBound * 32;
  struct Row {
    std::string_view why;
    std::vector<plan::Verdict> verdicts;
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
    EXPECT_EQ(plan::extender_scores(ranked(row.verdicts)), row.scores) << row.why;
  }
}

TEST(ReservationTest, SaysTheVeryDevicesOfEachContainer) {
  model::NodeInventory inventory = make_node("n1: A 40960 x2");
  inventory.gpus[0].index = 4;
  inventory.gpus[1].index = 6;
  const model::NodeStatePtr node =
      fit::build_node_state(std::make_shared<const model::NodeInventory>(inventory), {});
  const model::GpuRequest request = make_whole(2);
  const plan::NodeChoice choice =
      choose_without_others(*node, OwnedIncomingPod(request, make_profile("best-fit")));
  const model::Reservation reservation = reservation_for(*node, request, choice.placement, "uid-1");
  EXPECT_EQ(reservation.uid, "uid-1");
  EXPECT_EQ(reservation.node, "n1");
  ASSERT_EQ(reservation.containers.size(), 1U);
  EXPECT_EQ(reservation.containers[0].name, "main");
  EXPECT_EQ(reservation.containers[0].request_text, "gpu-fraction=2");
  const std::vector<model::ReservedDevice> expected = {{.index = 4,
                                                        .uuid = make_gpu_uuid("n1", 0),
                                                        .mode = model::GpuMode::kWhole,
                                                        .memory = {40960},
                                                        .compute = {1000}},
                                                       {.index = 6,
                                                        .uuid = make_gpu_uuid("n1", 1),
                                                        .mode = model::GpuMode::kWhole,
                                                        .memory = {40960},
                                                        .compute = {1000}}};
  EXPECT_EQ(std::get<std::vector<model::ReservedDevice>>(reservation.containers[0].assigned),
            expected);
}

TEST(ReservationTest, UnitsOfTheKubeletHaveNoDevices) {
  const model::NodeStatePtr node = make_state("n1: A 40960 x2 | nvidia.com/gpu=2");
  const model::GpuRequest request = make_units(2);
  const plan::NodeChoice choice =
      choose_without_others(*node, OwnedIncomingPod(request, make_profile("best-fit")));
  const model::Reservation reservation = reservation_for(*node, request, choice.placement, "uid-1");
  ASSERT_EQ(reservation.containers.size(), 1U);
  EXPECT_EQ(std::get<model::KubeletUnits>(reservation.containers[0].assigned),
            (model::KubeletUnits{"nvidia.com/gpu", 2}));
  EXPECT_EQ(reservation.containers[0].request_text, "nvidia.com/gpu=2");
}

TEST(ReservationTest, TakingWhatWasPlannedChargesExactlyThat) {
  const model::NodeStatePtr node = make_state("n1: A 40960 x2", {half_of("n1", 0)});
  for (const model::GpuRequest& request :
       {make_fraction(333), make_memory(3815), make_whole(1), make_fraction(1)}) {
    const plan::NodeChoice choice =
        choose_without_others(*node, OwnedIncomingPod(request, make_profile("best-fit")));
    auto holding = std::make_shared<model::Holding>();
    holding->uid = "new";
    holding->reservation = reservation_for(*node, request, choice.placement, "new");
    std::vector<model::HoldingPtr> holdings = node->holdings;
    holdings.push_back(holding);
    const model::NodeStatePtr after = fit::build_node_state(node->inventory, holdings);
    for (const model::DeviceAllocation& allocation : choice.placement.allocations) {
      EXPECT_EQ(after->gpus[allocation.gpu].used_memory,
                node->gpus[allocation.gpu].used_memory + allocation.memory);
      EXPECT_EQ(after->gpus[allocation.gpu].used_compute,
                node->gpus[allocation.gpu].used_compute + allocation.compute);
      EXPECT_EQ(after->gpus[allocation.gpu].closure, model::GpuClosure::kOpen);
      EXPECT_EQ(after->gpus[allocation.gpu].mode, allocation.mode);
    }
  }
}

/// Whoever may write nodes' inventories and a pod's annotations can make comparing all models with
/// all patterns as long as both may be.
TEST(PlanTest, ComparingModelsCountsTowardsWhatOneCallMayCost) {
  constexpr std::size_t kNodes = 1'216;
  constexpr std::size_t kGpus = 64;
  std::vector<std::shared_ptr<const model::NodeTable::Chunk>> chunks;
  auto names = std::make_shared<model::NameIndex>();
  std::vector<std::string> kept;
  for (std::size_t first = 0; first < kNodes; first += model::NodeTable::kChunkSize) {
    auto chunk = std::make_shared<model::NodeTable::Chunk>();
    chunk->versions.fill(1);
    for (std::size_t n = first; n < first + model::NodeTable::kChunkSize; ++n) {
      auto node = std::make_shared<model::NodeInventory>();
      node->name = "n" + std::to_string(10'000 + n);
      for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
        node->gpus.push_back({.index = static_cast<int>(gpu),
                              .model = "M" + std::to_string(n * kGpus + gpu),
                              .memory = {40960},
                              .allowed_modes = {model::GpuMode::kTimeSlicing}});
      }
      names->emplace(node->name, base::NodeIndex{static_cast<std::uint32_t>(n)});
      kept.push_back(node->name);
      chunk->states.at(n - first) = fit::build_node_state(std::move(node), {});
    }
    chunks.push_back(std::move(chunk));
  }
  model::Snapshot snapshot;
  snapshot.nodes = model::NodeTable(std::move(chunks), kNodes);
  snapshot.names = std::move(names);
  model::GpuRequest request = make_fraction(100);
  request.containers.resize(8, request.containers.front());
  for (model::ContainerRequest& asked : request.containers) {
    asked.models.included = {std::string(250, '?'), "M77823"};  // the last GPU of all
  }
  const std::vector<std::string_view> candidates(kept.begin(), kept.end());
  const OwnedIncomingPod claim(request);
  plan::VerdictCache cache;
  const plan::PlanInput input{.snapshot = snapshot, .incoming = claim.view(), .cache = &cache};
  const plan::Plan first = plan::plan(input, candidates);
  EXPECT_FALSE(first.winner);
  EXPECT_EQ(first.verdicts.front().reason, model::ReasonCode::kModelExcluded);
  EXPECT_EQ(first.verdicts.back().reason, fit::kNotJudged);
  const plan::Plan second = plan::plan(input, candidates);
  ASSERT_TRUE(second.winner) << "the rest is judged in the next call";
  EXPECT_EQ(*second.winner, kNodes - 1);
}

}  // namespace
}  // namespace snug::plan_test
