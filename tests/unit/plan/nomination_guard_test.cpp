// Room that is kept for nominated pods, as filter (plan) and bind (choose_placement) see it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/node_states.hpp"
#include "support/owned_incoming_pod.hpp"

namespace snug::nominated_test {
namespace {

constexpr std::string_view kEarly = "2026-01-01T00:00:00Z";
constexpr std::string_view kLate = "2026-01-02T00:00:00Z";

model::PodRank ranked(std::int32_t priority, std::string_view created, std::string_view uid) {
  return {.priority = priority, .created = std::string(created), .uid = std::string(uid)};
}

model::NominationPtr nominated(model::PodRank rank, model::GpuRequest request,
                               std::string_view name_space = "default") {
  return std::make_shared<const model::Nomination>(
      model::Nomination{.name_space = std::string(name_space),
                        .node = "n1",
                        .rank = std::move(rank),
                        .request = std::move(request)});
}

model::HoldingPtr half(std::string_view uid, int gpu, std::int32_t priority, bool ending = false) {
  auto holding = make_holding(uid, "n1", {make_share(gpu, 20480, 500)});
  holding->rank = ranked(priority, kEarly, uid);
  holding->terminating = ending;
  return holding;
}

struct Asking {
  model::GpuRequest request;
  model::PodRank rank = ranked(0, kLate, "asking");
  model::SharingRules sharing;
  std::string_view term = "best-fit";
};

/// `0`: the GPU that the asking pod gets, by filter and by bind alike; else the reason.
std::string answer(std::string_view node, const std::vector<model::HoldingPtr>& holdings,
                   const model::Nominations& nominations, const Asking& asking) {
  model::Snapshot snapshot;
  auto names = std::make_shared<model::NameIndex>();
  names->emplace("n1", base::NodeIndex{0});
  snapshot.names = names;
  const model::NodeStatePtr state = make_state(node, holdings);
  snapshot.nodes = model::NodeTable(std::vector{state});
  snapshot.nominations[0] = nominations;
  for (const model::HoldingPtr& holding : holdings) {
    snapshot.namespace_usage.add(holding->name_space,
                                 fit::held_compute(*holding, state->inventory.get()));
  }
  OwnedIncomingPod claim(asking.request, make_profile(asking.term));
  claim.rank = asking.rank;
  claim.sharing = asking.sharing;
  const plan::Plan filter = plan::plan({.snapshot = snapshot, .incoming = claim.view()},
                                       std::vector<std::string_view>{"n1"});
  const plan::NodeChoice bind = plan::choose_placement(
      *state, claim.view(),
      {.namespace_usage = snapshot.namespace_usage, .nominations = &nominations});
  EXPECT_EQ(filter.verdicts.at(0).reason, bind.reason);
  if (bind.reason != model::ReasonCode::kNone)
    return std::string(model::reason_row(bind.reason).code);
  EXPECT_EQ(filter.winner, 0U);
  std::string text;
  for (const model::DeviceAllocation& allocation : bind.placement.allocations)
    text += std::to_string(allocation.gpu);
  std::string planned;
  for (const model::DeviceAllocation& allocation : filter.placement.allocations)
    planned += std::to_string(allocation.gpu);
  EXPECT_EQ(planned, text);
  return text;
}

struct Row {
  std::string_view why;
  std::string_view node;
  std::vector<model::HoldingPtr> holdings;
  model::Nominations nominations;
  Asking asking;
  std::string_view expected;
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(answer(row.node, row.holdings, row.nominations, row.asking), row.expected) << row.why;
  }
}

constexpr std::string_view kOne = "n1: A 40960";
constexpr std::string_view kTwo = "n1: A 40960 x2";

/// What is hard to place has its room found like everybody else's, and keeps nobody out.
TEST(NominatedFirstTest, ManyOfSeveralContainersRefuseNobodyWhereThereIsRoom) {
  std::vector<model::HoldingPtr> holdings;
  for (int gpu = 0; gpu < 8; ++gpu) {
    const model::ReservedDevice little = make_share(gpu, 410 * (gpu + 1), 10 * (gpu + 1));
    holdings.push_back(make_holding("little-" + std::to_string(gpu), "n1", {little}));
  }
  model::GpuRequest request;
  for (int c = 0; c < 3; ++c) {
    model::ContainerRequest asked = make_fraction(50).containers.front();
    asked.container = "c" + std::to_string(c);
    asked.count = 2;
    request.containers.push_back(std::move(asked));
  }
  for (const int pods : {1, 6, 20}) {
    model::Nominations nominations;
    for (int i = 0; i < pods; ++i) {
      nominations.push_back(nominated(ranked(1, kEarly, "n" + std::to_string(100 + i)), request));
    }
    const std::string gpu = answer("n1: A 40960 x8", holdings, nominations, {make_fraction(100)});
    EXPECT_EQ(gpu.size(), 1U) << gpu << " beside " << pods;
  }
}

TEST(NominatedFirstTest, WhoComesFirstKeepsItsPlace) {
  const Asking asks{make_fraction(600)};
  const model::GpuRequest same = make_fraction(600);
  check(
      {{"a higher priority", kOne, {}, {nominated(ranked(1, kLate, "n"), same)}, asks, "Nominated"},
       {"an equal, older", kOne, {}, {nominated(ranked(0, kEarly, "n"), same)}, asks, "Nominated"},
       {"an equal, younger",
        kOne,
        {},
        {nominated(ranked(0, "2026-01-03T00:00:00Z", "n"), same)},
        asks,
        "0"},
       {"an equal of the same time, lower uid",
        kOne,
        {},
        {nominated(ranked(0, kLate, "a"), same)},
        asks,
        "Nominated"},
       {"an equal of the same time, higher uid",
        kOne,
        {},
        {nominated(ranked(0, kLate, "z"), same)},
        asks,
        "0"},
       {"a lower priority, older", kOne, {}, {nominated(ranked(-1, kEarly, "n"), same)}, asks, "0"},
       {"the pod itself", kOne, {}, {nominated(ranked(0, kLate, "asking"), same)}, asks, "0"}});
}

TEST(NominatedFirstTest, OnlyWhatItNeedsIsKept) {
  const model::NominationPtr whole = nominated(ranked(1, kLate, "n"), make_whole(1));
  const model::NominationPtr small = nominated(ranked(1, kLate, "m"), make_fraction(250));
  check({{"there is room for both", kTwo, {}, {whole}, {make_fraction(600)}, "0"},
         {"beside each other", kOne, {}, {small}, {make_fraction(750)}, "0"},
         {"a thousandth too much", kOne, {}, {small}, {make_fraction(751)}, "Nominated"},
         {"not the GPU that would be best",
          kTwo,
          {half("h", 0, 0)},
          {nominated(ranked(1, kLate, "n"), make_whole(1)),
           nominated(ranked(1, kLate, "m"), make_fraction(500))},
          {make_fraction(250)},
          "Nominated"},
         {"the used GPU, since the other is kept",
          kTwo,
          {half("h", 0, 0)},
          {whole},
          {make_fraction(250)},
          "0"},
         {"two before it", kTwo, {}, {whole, small}, {make_fraction(750)}, "0"},
         {"two before it, and no room for three",
          kTwo,
          {},
          {whole, small},
          {make_fraction(751)},
          "Nominated"},
         {"where nothing fits anyway, that is the reason",
          kOne,
          {half("h", 0, 5)},
          {small},
          {make_fraction(501)},
          "NoRoom"}});
}

TEST(NominatedFirstTest, WhoWaitsForOthersToEnd) {
  const model::NominationPtr whole = nominated(ranked(1, kLate, "n"), make_whole(1));
  const model::NominationPtr most = nominated(ranked(1, kLate, "n"), make_fraction(900));
  check({{"a pod that ends makes its room",
          kOne,
          {half("v", 0, 0, true)},
          {whole},
          {make_fraction(250)},
          "Nominated"},
         {"a victim that does not show it yet",
          kOne,
          {half("v", 0, 0)},
          {whole},
          {make_fraction(250)},
          "Nominated"},
         {"beside which there will be room",
          kOne,
          {half("v", 0, 0)},
          {nominated(ranked(1, kLate, "n"), make_fraction(700))},
          {make_fraction(250)},
          "0"},
         {"beside which there will not",
          kOne,
          {half("v", 0, 0)},
          {most},
          {make_fraction(250)},
          "Nominated"},
         {"pods of the same priority are no victims",
          kOne,
          {half("v", 0, 1)},
          {whole},
          {make_fraction(250)},
          "0"},
         {"unless they end anyway",
          kOne,
          {half("v", 0, 9, true)},
          {whole},
          {make_fraction(250)},
          "Nominated"},
         {"one could never run here",
          kOne,
          {},
          {nominated(ranked(9, kEarly, "n"), make_whole(2))},
          {make_fraction(600)},
          "0"},
         {"one could never run beside who stays",
          kOne,
          {half("s", 0, 9)},
          {whole},
          {make_fraction(250)},
          "0"},
         {"one stands behind another that takes all",
          kOne,
          {},
          {nominated(ranked(9, kEarly, "n"), make_whole(1)),
           nominated(ranked(8, kEarly, "m"), make_whole(1))},
          {make_fraction(1)},
          "Nominated"}});
}

TEST(NominatedFirstTest, UnitsOfTheKubeletAndCapsAreKeptToo) {
  constexpr std::string_view kUnits = "n1: A 40960 x2 | nvidia.com/gpu=2/2";
  const model::NominationPtr two = nominated(ranked(1, kLate, "n"), make_units(2));
  const model::NominationPtr one = nominated(ranked(1, kLate, "n"), make_units(1));
  const model::SharingRules capped({{{"*"}, {.cap = base::MilliGpu{1000}}}});
  check({{"units", kUnits, {}, {two}, {make_units(1)}, "Nominated"},
         {"a unit is left", kUnits, {}, {one}, {make_units(1)}, ""},
         {"the other kind of pod", kUnits, {}, {one}, {make_fraction(250)}, "Nominated"},
         {"the cap of their namespace",
          kTwo,
          {},
          {nominated(ranked(1, kLate, "n"), make_fraction(600))},
          {make_fraction(600), ranked(0, kLate, "asking"), capped},
          "Nominated"},
         {"each namespace has its own",
          kTwo,
          {},
          {nominated(ranked(1, kLate, "n"), make_fraction(600), "other")},
          {make_fraction(600), ranked(0, kLate, "asking"), capped},
          "0"}});
}

TEST(NominatedFirstTest, WhoCouldStartNowStillCan) {
  check({{"though it could have the room of a lower one",
          kTwo,
          {half("h", 0, 0)},
          {nominated(ranked(1, kLate, "n"), make_whole(1))},
          {make_fraction(600)},
          "Nominated"},
         {"though it could have the room of one that ends",
          kTwo,
          {half("h", 0, 0, true)},
          {nominated(ranked(1, kLate, "n"), make_whole(1))},
          {make_fraction(600)},
          "Nominated"}});
}

TEST(NominatedFirstTest, NobodysProfileRobsThem) {
  // By spreading the first would open the second GPU, and the other would seem to have no room.
  const model::Nominations both = {nominated(ranked(2, kLate, "m"), make_fraction(500)),
                                   nominated(ranked(1, kLate, "n"), make_whole(1))};
  for (const std::string_view term : {"best-fit", "spread"}) {
    const Asking asks{make_fraction(250), ranked(0, kLate, "asking"), {}, term};
    check({{term, kTwo, {half("h", 0, 9)}, both, asks, "Nominated"}});
  }
}

TEST(NominatedFirstTest, AllAreKeptForWhomThereIsAWay) {
  // The tightest place for the first is the only one for the second.
  model::GpuRequest on_a = make_fraction(500);
  on_a.containers.front().models.included = {"A"};
  const model::Nominations both = {nominated(ranked(2, kLate, "m"), make_fraction(250)),
                                   nominated(ranked(1, kLate, "n"), on_a)};
  constexpr std::string_view kTwoModels = "n1: A 40960, B 40960";
  const model::HoldingPtr on_b = [] {
    auto holding = make_holding("b", "n1", {make_share(1, 16384, 400)});
    holding->rank = ranked(9, kEarly, "b");
    return holding;
  }();
  check(
      {{"no room beside both",
        kTwoModels,
        {half("h", 0, 9), on_b},
        both,
        {make_fraction(351)},
        "Nominated"},
       {"beside the first", kTwoModels, {half("h", 0, 9), on_b}, both, {make_fraction(350)}, "1"}});
}

/// GPU 0 alone has room for much, and no two are alike.
std::vector<model::HoldingPtr> crowd(int gpus) {
  std::vector<model::HoldingPtr> holdings;
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const int taken = gpu == 0 ? 100 : 500 + gpu;
    const std::string uid = "h" + std::to_string(gpu);
    auto holding = make_holding(uid, "n1", {make_share(gpu, taken, taken)});
    holding->rank = ranked(9, kEarly, uid);
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

TEST(NominatedFirstTest, AmongManyPlacementsOneThatLeavesRoomIsFound) {
  model::GpuRequest five = make_fraction(300);
  five.containers.front().count = 5;
  const model::Nominations large = {nominated(ranked(1, kLate, "n"), make_fraction(800))};
  const model::Nominations small = {nominated(ranked(1, kLate, "n"), make_fraction(400))};
  // The first of all sets of five hold GPU 0.
  check({{"all but the first GPU", "n1: A 1000 x10", crowd(10), large, {five}, "16789"},
         {"there are just as many", "n1: A 1000 x6", crowd(6), large, {five}, "12345"},
         {"there are not", "n1: A 1000 x5", crowd(5), large, {five}, "Nominated"},
         {"any", "n1: A 1000 x10", crowd(10), small, {five}, "02789"}});
}

model::HoldingPtr on_gpus(std::string_view uid, std::int32_t priority, int taken,
                          const std::vector<int>& gpus, bool ending = false) {
  std::vector<model::ReservedDevice> devices;
  devices.reserve(gpus.size());
  for (const int gpu : gpus) devices.push_back(make_share(gpu, taken, taken));
  auto holding = make_holding(uid, "n1", std::move(devices));
  holding->rank = ranked(priority, kEarly, uid);
  holding->terminating = ending;
  return holding;
}

TEST(NominatedFirstTest, GpusThatAreAlikeTodayMayNotBeSoForWhomOthersEnd) {
  model::GpuRequest pair = make_fraction(100);
  pair.containers.front().count = 2;
  const model::NominationPtr whole = nominated(ranked(1, kLate, "n"), make_whole(1));
  check(
      {{"the GPU on which nobody ends",
        "n1: A 1000 x2",
        {on_gpus("v", 0, 300, {0}, true), on_gpus("s", 9, 300, {1})},
        {whole},
        {make_fraction(100)},
        "1"},
       {"though the nominated one could be anywhere beside it",
        "n1: A 1000 x3",
        {on_gpus("h", 0, 300, {0, 2}), on_gpus("e", 0, 300, {1}, true), on_gpus("i", 0, 100, {0})},
        {nominated(ranked(3, kEarly, "n"), make_whole(1)),
         nominated(ranked(2, kEarly, "m"), make_fraction(800))},
        {pair},
        "02"},
       {"the first of two goes where the second cannot",
        "n1: A 1000 x2",
        {on_gpus("v", 0, 600, {0}), on_gpus("s", 9, 600, {1})},
        {nominated(ranked(2, kEarly, "m"), make_fraction(300)),
         nominated(ranked(1, kEarly, "n"), make_whole(1))},
        {make_fraction(200)},
        "Nominated"}});
}

TEST(NominatedFirstTest, TheSmallFillWhatTheLargeLeave) {
  model::Nominations pairs;
  for (int i = 0; i < 5; ++i) {
    pairs.push_back(nominated(ranked(2, kEarly, "s" + std::to_string(i)), make_fraction(400)));
  }
  for (int i = 0; i < 5; ++i) {
    pairs.push_back(nominated(ranked(1, kEarly, "t" + std::to_string(i)), make_fraction(600)));
  }
  check({{"five pairs", "n1: A 1000 x5", {}, pairs, {make_fraction(1)}, "Nominated"},
         {"and a GPU", "n1: A 1000 x6", {}, pairs, {make_whole(1)}, "0"}});
}

TEST(NominatedFirstTest, OnOneNodeTheFirstSixtyFourAreLookedAt) {
  model::Nominations many;
  for (int i = 100; i < 170; ++i) {
    many.push_back(nominated(ranked(1, kEarly, "n" + std::to_string(i)), make_fraction(10)));
  }
  check({{"64 x 10", "n1: A 1000", {}, many, {make_fraction(360)}, "0"},
         {"64 x 10, and one too much", "n1: A 1000", {}, many, {make_fraction(361)}, "Nominated"}});
}

TEST(NominatedFirstTest, WhoGoesGivesItsPartOfTheCapBack) {
  const model::SharingRules capped({{{"*"}, {.cap = base::MilliGpu{1000}}}});
  const auto victim = [](bool ending) {
    auto holding = make_holding("v", "n1", {make_share(0, 20480, 500)});
    holding->rank = ranked(0, kEarly, "v");
    holding->terminating = ending;
    return holding;
  };
  const model::Nominations both = {nominated(ranked(2, kLate, "n"), make_fraction(600)),
                                   nominated(ranked(1, kLate, "m"), make_fraction(300))};
  const auto asks = [&](int thousandths) {
    return Asking{make_fraction(thousandths), ranked(0, kLate, "asking"), capped};
  };
  // When the victim is gone, 1000 - 600 - 300 are left.
  check({{"all that is left", "n1: A 40960 x4", {victim(true)}, both, asks(100), "0"},
         {"more", "n1: A 40960 x4", {victim(true)}, both, asks(101), "Nominated"},
         {"of a victim not shown yet", "n1: A 40960 x4", {victim(false)}, both, asks(100), "0"},
         {"more", "n1: A 40960 x4", {victim(false)}, both, asks(101), "Nominated"},
         {"what is left now", "n1: A 40960 x4", {victim(true)}, {}, asks(501), "CapReached"}});
}

}  // namespace
}  // namespace snug::nominated_test
