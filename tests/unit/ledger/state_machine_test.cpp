#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger_fixture.hpp"

namespace snug::state_machine_test {
namespace {

constexpr std::string_view kPod = "p";

struct World : LedgerFixture {
  ledger::ListMark before;           // the start state came after this list began
  std::uint64_t start_sequence = 0;  // of the entry in the start state
  std::uint64_t earlier_sequence = 0;
  model::HoldingPtr own;  // what the pod holds, or would hold on n1
};

model::HoldingPtr by_hand(std::string_view node) {
  auto holding = make_unplaced(kPod, node);
  return holding;
}

enum Start { kNothing, kReserved, kUnsettled, kBound, kEnded, kEndedByRead, kStarts };
constexpr std::array<std::string_view, kStarts> kStartNames = {
    "Nothing", "Reserved", "Unsettled", "Bound", "Ended", "EndedByRead"};

void begin(World& world, Start start) {
  world.own = world.reserve(kPod, "n1").value();
  world.ledger.release(kPod);
  world.before = world.ledger.begin_list();
  if (start == kEnded) world.ledger.end_pod(kPod);
  if (start == kNothing || start == kEnded) return;
  world.own = world.reserve(kPod, "n1").value();
  if (start == kEndedByRead) {
    ASSERT_TRUE(world.ledger.end_pod_from_get(kPod, world.ledger.find(kPod)->sequence));
    return;
  }
  world.earlier_sequence = world.ledger.find(kPod)->sequence;
  if (start == kUnsettled) world.ledger.mark_unsettled(kPod);
  if (start == kBound) world.ledger.mark_bound(kPod);
  world.start_sequence = world.ledger.find(kPod)->sequence;
}

struct Operation {
  std::string_view name;
  std::function<void(World&)> apply;
  std::array<std::string_view, kStarts> after;  // by start state
};

const std::vector<Operation> kOperations = {
    {"reserve on n1",
     [](World& w) { (void)w.reserve(kPod, "n1"); },
     {"Reserved@n1", "Reserved@n1", "Reserved@n1", "Bound@n1", "ended", "ended"}},
    {"reserve on n2",
     [](World& w) { (void)w.reserve(kPod, "n2"); },
     {"Reserved@n2", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"bound",
     [](World& w) { w.ledger.mark_bound(kPod); },
     {"-", "Bound@n1", "Bound@n1", "Bound@n1", "ended", "ended"}},
    // An unsettled bind may still be carried out, so that a later failure does not free it.
    {"release",
     [](World& w) { w.ledger.release(kPod); },
     {"-", "-", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"unsettled",
     [](World& w) { w.ledger.mark_unsettled(kPod); },
     {"-", "Unsettled@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"release_unsettled of now",
     [](World& w) { w.ledger.release_unsettled(kPod, w.start_sequence); },
     {"-", "Reserved@n1", "-", "Bound@n1", "ended", "ended"}},
    {"release_unsettled of before",
     [](World& w) { w.ledger.release_unsettled(kPod, w.earlier_sequence); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"hold what we tried",
     [](World& w) { EXPECT_TRUE(w.ledger.hold(w.own)); },
     {"Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "ended"}},
    {"hold as a GET shows it",
     [](World& w) { EXPECT_TRUE(w.ledger.hold_from_get(w.own)); },
     {"Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "ended", "ended"}},
    {"hold, bound to n1 by hand",
     [](World& w) { (void)w.ledger.hold(by_hand("n1")); },
     {"Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "ended"}},
    {"hold, bound to n2 by hand",
     [](World& w) { EXPECT_TRUE(w.ledger.hold(by_hand("n2"))); },
     {"Bound@n2", "Bound@n2", "Bound@n2", "Bound@n2", "Bound@n2", "ended"}},
    {"gone",
     [](World& w) { w.ledger.end_pod(kPod); },
     {"ended", "ended", "ended", "ended", "ended", "ended"}},
    {"another pod is gone",
     [](World& w) { w.ledger.end_pod("other"); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"a list without it",
     [](World& w) { w.list(w.ledger.begin_list(), {}); },
     {"-", "Reserved@n1", "ended", "ended", "ended", "ended"}},
    {"a list shows it unbound",
     [](World& w) { w.list(w.ledger.begin_list(), {}, {std::string(kPod)}); },
     {"-", "Reserved@n1", "Unsettled@n1", "-", "-", "-"}},
    {"a list shows it bound",
     [](World& w) { w.list(w.ledger.begin_list(), {w.own}); },
     {"Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1"}},
    {"a list shows it bound to n2",
     [](World& w) { w.list(w.ledger.begin_list(), {by_hand("n2")}); },
     {"Bound@n2", "Bound@n2", "Bound@n2", "Bound@n2", "Bound@n2", "Bound@n2"}},
    {"an older list without it",
     [](World& w) { w.list(w.before, {}); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"an older list shows it unbound",
     [](World& w) { w.list(w.before, {}, {std::string(kPod)}); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"an older list shows it bound",
     [](World& w) { w.list(w.before, {w.own}); },
     {"Bound@n1", "Bound@n1", "Bound@n1", "Bound@n1", "ended", "ended"}},
    {"its node goes",
     [](World& w) { w.ledger.remove_node("n1"); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"a day passes",
     [](World& w) { w.clock.advance(std::chrono::hours(24)); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"an intent is noted",
     [](World& w) { w.ledger.note_intent(w.own); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}},
    {"an intent ends",
     [](World& w) { w.ledger.end_intent(kPod); },
     {"-", "Reserved@n1", "Unsettled@n1", "Bound@n1", "ended", "ended"}}};

const std::vector<Operation>& operations() { return kOperations; }

TEST(LedgerStateTest, EveryOperationInEveryState) {
  for (const Operation& operation : operations()) {
    for (int start = 0; start < kStarts; ++start) {
      SCOPED_TRACE(std::string(operation.name) + " in " +
                   std::string(kStartNames[static_cast<std::size_t>(start)]));
      World world;
      begin(world, static_cast<Start>(start));
      operation.apply(world);
      EXPECT_EQ(world.where(kPod), operation.after[static_cast<std::size_t>(start)]);
      world.expect_sums();
    }
  }
}

TEST(LedgerStateTest, EveryOperationTwiceIsAsOnce) {
  for (const Operation& operation : operations()) {
    if (operation.name == "reserve on n1") continue;  // Reserved, then in flight
    for (int start = 0; start < kStarts; ++start) {
      SCOPED_TRACE(std::string(operation.name) + " in " +
                   std::string(kStartNames[static_cast<std::size_t>(start)]));
      World world;
      begin(world, static_cast<Start>(start));
      operation.apply(world);
      const std::string once = world.visible();
      const std::string state = world.where(kPod);
      const std::uint64_t room = world.room();
      operation.apply(world);
      EXPECT_EQ(world.visible(), once);
      EXPECT_EQ(world.where(kPod), state);
      EXPECT_EQ(world.room(), room);
    }
  }
}

TEST(LedgerStateTest, NothingButWhatIsSurelyNewerBringsAnEndedPodBack) {
  for (const Start start : {kEnded, kEndedByRead}) {
    for (const Operation& late : operations()) {
      for (const Operation& later : operations()) {
        // These say in the watch's own order what before only a read had said.
        const bool in_order = late.name == "gone" || late.name == "a list without it";
        const Start then = in_order ? kEnded : start;
        if (late.after[start] != "ended" || later.after[then] != "ended") continue;
        World world;
        begin(world, start);
        late.apply(world);
        later.apply(world);
        EXPECT_EQ(world.where(kPod), "ended") << late.name << ", " << later.name;
        EXPECT_TRUE(world.ledger.snapshot()->intents.empty());
      }
    }
  }
}

std::int64_t free_memory(const model::Snapshot& snapshot) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    if (snapshot.nodes[i] == nullptr || snapshot.nodes[i]->unplaced_pods > 0) continue;
    for (const model::GpuState& gpu : snapshot.nodes[i]->gpus) sum += gpu.free_memory().value;
  }
  return sum;
}

TEST(LedgerGenerationTest, RoomCountsWheneverSomethingMayHaveBecomeFree) {
  for (const Operation& operation : operations()) {
    for (int start = 0; start < kStarts; ++start) {
      SCOPED_TRACE(std::string(operation.name) + " in " +
                   std::string(kStartNames[static_cast<std::size_t>(start)]));
      World world;
      begin(world, static_cast<Start>(start));
      const model::SnapshotPtr before = world.ledger.snapshot();
      operation.apply(world);
      const model::SnapshotPtr after = world.ledger.snapshot();
      if (free_memory(*after) > free_memory(*before)) {
        EXPECT_GT(after->freed_generation, before->freed_generation);
      }
      if (describe(*after) != describe(*before)) {
        EXPECT_GT(after->generation, before->generation);
      } else {
        EXPECT_EQ(after->freed_generation, before->freed_generation);
      }
    }
  }
}

TEST(LedgerReserveTest, SaysWhyItDoesNotReserve) {
  using Kind = ledger::ReserveFailure::Cause;
  struct Row {
    Start start;
    std::string_view node;
    Kind kind;
  };
  for (const Row& row : std::vector<Row>{{kReserved, "n1", Kind::kInFlight},
                                         {kReserved, "n2", Kind::kElsewhere},
                                         {kUnsettled, "n2", Kind::kElsewhere},
                                         {kBound, "n1", Kind::kBound},
                                         {kBound, "n2", Kind::kElsewhere},
                                         {kBound, "nowhere", Kind::kElsewhere},
                                         {kEnded, "n1", Kind::kEnded}}) {
    World world;
    begin(world, row.start);
    const auto result = world.reserve(kPod, row.node);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().cause, row.kind);
    if (row.kind == Kind::kEnded) continue;
    ASSERT_NE(result.error().entry.holding, nullptr);
    EXPECT_EQ(result.error().entry.holding, world.own);
  }
}

TEST(LedgerReserveTest, RefusesWithTheReasonOfFit) {
  LedgerFixture world({}, {"n1: A 40960 | nvidia.com/gpu=1", "bad: A 40960 | closed=BadInventory"});
  ASSERT_TRUE(world.reserve("a", "n1", make_fraction(600)).has_value());
  struct Row {
    std::string_view node;
    model::GpuRequest request;
    model::ReasonCode reason;
  };
  for (const Row& row :
       std::vector<Row>{{"n1", make_fraction(500), model::ReasonCode::kNoRoom},
                        {"n1", make_memory(40961), model::ReasonCode::kTooLarge},
                        {"n1", make_units(1), model::ReasonCode::kOtherKind},
                        {"n1", make_units(2), model::ReasonCode::kTooLarge},
                        {"bad", make_fraction(500), model::ReasonCode::kBadInventory},
                        {"nowhere", make_fraction(500), model::ReasonCode::kUnknownNode}}) {
    const std::uint64_t generation = world.generation();
    const auto result = world.reserve("b", row.node, row.request);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().cause, ledger::ReserveFailure::Cause::kNoFit);
    EXPECT_EQ(result.error().reason, row.reason);
    EXPECT_EQ(world.where("b"), "-");
    EXPECT_EQ(world.generation(), generation) << "a refusal changes nothing";
  }
}

TEST(LedgerReserveTest, WritesDownEverythingThatTheBindingNeeds) {
  LedgerFixture world;
  world.clock.advance(std::chrono::seconds(7));
  const auto holding = world.reserve("p", "n1", make_memory(3815));
  ASSERT_TRUE(holding.has_value());
  EXPECT_EQ((*holding)->name_space, "default");
  EXPECT_EQ((*holding)->pod, "p");
  EXPECT_EQ((*holding)->uid, "p");
  EXPECT_EQ((*holding)->request_text, "gpu-memory=3815");
  EXPECT_EQ((*holding)->main_container, "main");
  EXPECT_FALSE((*holding)->unplaced);
  EXPECT_FALSE((*holding)->suspect);
  EXPECT_TRUE((*holding)->reservation_written);
  const model::Reservation& reservation = (*holding)->reservation;
  EXPECT_EQ(reservation.uid, "p");
  EXPECT_EQ(reservation.node, "n1");
  const std::vector<model::ReservedDevice> devices = {{.index = 0,
                                                       .uuid = make_gpu_uuid("n1", 0),
                                                       .mode = model::GpuMode::kTimeSlicing,
                                                       .memory = {3815},
                                                       .compute = {93}}};
  EXPECT_EQ(std::get<std::vector<model::ReservedDevice>>(reservation.containers.at(0).assigned),
            devices);
  const ledger::LedgerEntry entry = world.ledger.find("p").value();
  EXPECT_EQ(entry.since - base::TimePoint{}, std::chrono::seconds(7));
  EXPECT_FALSE(entry.confirmed);
  EXPECT_FALSE(entry.holding->terminating);
}

TEST(LedgerReserveTest, AnUnsettledPodGetsTheVeryReservationBack) {
  LedgerFixture world;
  const model::HoldingPtr first = world.reserve("p", "n1", make_fraction(250)).value();
  world.ledger.mark_unsettled("p");
  const std::string before = world.visible();
  const auto again = world.reserve("p", "n1", make_fraction(900));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, first) << "whatever the pod asks now";
  EXPECT_EQ(world.visible(), before);
}

TEST(LedgerReserveTest, ASecondAttemptThatFailsDoesNotFreeWhatTheFirstMayStillTake) {
  LedgerFixture world;
  world.clock.advance(std::chrono::seconds(5));
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  world.clock.advance(std::chrono::seconds(1));
  world.ledger.mark_unsettled("p");
  const base::TimePoint in_doubt = world.ledger.find("p")->since;
  world.clock.advance(std::chrono::seconds(30));
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  EXPECT_EQ(world.where("p"), "Reserved@n1");
  const std::uint64_t room = world.room();
  world.ledger.release("p");
  EXPECT_EQ(world.where("p"), "Unsettled@n1");
  EXPECT_EQ(world.ledger.find("p")->since, in_doubt) << "the doubt is as old as the first bind's";
  EXPECT_EQ(world.room(), room);
  world.ledger.release_unsettled("p", world.ledger.find("p")->sequence);
  EXPECT_EQ(world.where("p"), "-");
  EXPECT_GT(world.room(), room);
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  world.ledger.release("p");
  EXPECT_EQ(world.where("p"), "-") << "the doubt ended with the holding that it was about";
}

TEST(LedgerReserveTest, ReservingMakesNoRoom) {
  LedgerFixture world;
  const std::uint64_t room = world.room();
  const std::uint64_t generation = world.generation();
  ASSERT_TRUE(world.reserve("p", "n1").has_value());
  EXPECT_EQ(world.room(), room);
  EXPECT_GT(world.generation(), generation);
  world.ledger.mark_bound("p");
  EXPECT_EQ(world.room(), room);
}

TEST(LedgerReserveTest, ReserveAndReleaseLeaveNothingBehind) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("other", "n1", make_fraction(250)).has_value());
  const std::string before = world.visible();
  for (const model::GpuRequest& request :
       {make_fraction(750), make_memory(3815), make_fraction(1)}) {
    ASSERT_TRUE(world.reserve("p", "n1", request).has_value());
    EXPECT_NE(world.visible(), before);
    world.ledger.release("p");
    EXPECT_EQ(world.visible(), before);
    EXPECT_EQ(world.where("p"), "-");
    EXPECT_FALSE(world.ledger.has_ended("p"));
  }
}

TEST(LedgerReserveTest, TheSecondOfTwoForTheLastPlaceIsRefused) {
  LedgerFixture world;
  ASSERT_TRUE(world.reserve("a", "n1", make_fraction(600)).has_value());
  EXPECT_FALSE(world.reserve("b", "n1", make_fraction(401)).has_value());
  EXPECT_TRUE(world.reserve("c", "n1", make_fraction(400)).has_value());
  EXPECT_FALSE(world.reserve("d", "n1", make_fraction(1)).has_value());
}

}  // namespace
}  // namespace snug::state_machine_test
