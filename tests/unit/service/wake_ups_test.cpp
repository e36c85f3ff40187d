// Which waiting pods the reconciler wakes, and when.
#include "unit/service/fixture.hpp"

namespace snug::testing::wake_ups_test {
namespace {

class WakeUpsTest : public ServiceTest {
 protected:
  /// The wake-up of the start is past.
  void wake_those_of_before() {
    reconciler.tick();
    clock.advance(std::chrono::seconds(2));
    api.touches.clear();
  }
};

TEST_F(WakeUpsTest, AnAnnotationThatTheAgentOfANodeSetsOnABoundPodChangesNothing) {
  start();
  list({make_node("n1", 1, 40960)});
  wake_those_of_before();
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  model::PodFacts shown = bound(pod, api.bindings.front());
  reconciler.pod_changed(shown);
  filter(arrive("waits", {{"gpu-fraction", "1"}}), {"n1"});
  reconciler.tick();
  const base::Generation before = ledger.snapshot()->generation;
  const std::size_t notices = api.notices.size();
  shown.annotations["snug.dev/retry"] = "1";
  reconciler.pod_changed(shown);
  clock.advance(std::chrono::seconds(2));
  reconciler.tick();
  EXPECT_EQ(ledger.snapshot()->generation, before);
  EXPECT_TRUE(api.touches.empty());
  EXPECT_EQ(api.notices.size(), notices);
  EXPECT_TRUE(metrics.problems.empty());
}

TEST_F(WakeUpsTest, PodsThatAnEarlierProcessRefusedAreWokenOnceAtTheStart) {
  start();
  list({make_node("n1", 1, 40960)});
  reconciler.tick();
  clock.advance(std::chrono::seconds(2));
  reconciler.tick();
  EXPECT_EQ(api.touches.size(), 1U);
}

TEST_F(WakeUpsTest, WaitingPodsAreWokenWhenRoomAppears) {
  start();
  list({make_node("n1", 1, 40960)});
  wake_those_of_before();
  const model::PodFacts first = arrive("a", {{"gpu-fraction", "1"}});
  ASSERT_EQ(bind(first, "n1"), "");
  reconciler.tick();
  EXPECT_TRUE(api.touches.empty()) << "nobody waits";
  filter(arrive("b", {{"gpu-fraction", "1"}}), {"n1"});
  reconciler.tick();
  EXPECT_TRUE(api.touches.empty()) << "no room has appeared since the refusal";
  reconciler.pod_gone(first);
  reconciler.tick();
  reconciler.tick();
  EXPECT_EQ(api.touches.size(), 1U);
}

TEST_F(WakeUpsTest, AChangeOfLoadWakesNobodyAndWritesNoEvent) {
  start();
  const auto with_usage = [](const std::string& usage) {
    model::NodeFacts node = make_node("n1", 1, 40960);
    if (!usage.empty()) {
      node.annotations["snug.dev/usage"] =
          R"({"version":1,"gpus":[{"uuid":"GPU-n1-0","memoryPercent":)" + usage +
          R"(,"computePercent":0}]})";
    }
    return node;
  };
  list({with_usage("90")});
  ASSERT_EQ(ledger.inventory("n1")->gpus[0].load, model::GpuLoad{.memory_percent = 90});
  wake_those_of_before();
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "1"}}), "n1"), "");
  filter(arrive("b", {{"gpu-fraction", "1"}}), {"n1"});
  const std::size_t notices = api.notices.size();
  for (const char* usage : {"0", "100", "not a number", ""}) {
    reconciler.node_changed(with_usage(usage));
    clock.advance(std::chrono::seconds(2));
    reconciler.tick();
    EXPECT_TRUE(api.touches.empty()) << usage;
    EXPECT_EQ(api.notices.size(), notices) << usage;
  }
}

TEST_F(WakeUpsTest, ARefusalDecidedBeforeRoomAppearedWakesThePodHoweverLateItIsNoted) {
  start();
  list({make_node("n1", 1, 40960)});
  wake_those_of_before();
  const model::PodFacts first = arrive("a", {{"gpu-fraction", "1"}});
  ASSERT_EQ(bind(first, "n1"), "");
  const base::Generation seen = ledger.snapshot()->freed_generation;
  reconciler.pod_gone(first);
  reconciler.tick();
  EXPECT_TRUE(api.touches.empty());
  pending.note_refused("uid-b", {model::ReasonCode::kNoRoom, {}}, {.freed = seen});
  reconciler.tick();
  EXPECT_EQ(api.touches.size(), 1U);
}

TEST_F(WakeUpsTest, WhoWasRefusedForAnIntentIsWokenWhenItEndsOtherwiseThanByItsBind) {
  struct Row {
    std::string_view why;
    std::function<void(const model::PodFacts&)> end;
    bool wakes = true;
  };
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  int turn = 0;
  for (const Row& row : std::vector<Row>{
           {"its time is over, and nobody calls",
            [this](const model::PodFacts&) {
              clock.advance(std::chrono::milliseconds(limits.intent_ttl_ms));
            }},
           {"its pod is deleted", [this](const model::PodFacts& a) { reconciler.pod_gone(a); }},
           {"its pod fits elsewhere", [this](const model::PodFacts& a) { filter(a, {"n2"}); }},
           {"its pod is refused elsewhere",
            [this](const model::PodFacts& a) { filter(a, {"n3"}); }},
           {"its pod is bound elsewhere",
            [this](const model::PodFacts& a) { EXPECT_EQ(bind(a, "n2"), ""); }},
           {"its pod is named anew for the place",
            [this](const model::PodFacts& a) { filter(a, {"n1"}); }, false},
           {"its pod is bound there",
            [this](const model::PodFacts& a) { EXPECT_EQ(bind(a, "n1"), ""); }, false}}) {
    SCOPED_TRACE(row.why);
    wake_those_of_before();
    const model::PodFacts a = arrive("a" + std::to_string(++turn), {{"gpu-fraction", "1"}});
    const model::PodFacts b = arrive("b" + std::to_string(turn), {{"gpu-fraction", "1"}});
    filter(a, {"n1"});
    filter(b, {"n1"});
    reconciler.tick();
    EXPECT_TRUE(api.touches.empty()) << "the intent has not ended";
    row.end(a);
    reconciler.tick();
    EXPECT_EQ(api.touches.size(), row.wakes ? 1U : 0U);
    reconciler.pod_gone(a);
    reconciler.pod_gone(b);
  }
}

TEST_F(WakeUpsTest, AnIntentThatEndsWakesNobodyWhoWasRefusedForAnotherReason) {
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960)});
  wake_those_of_before();
  filter(arrive("a", {{"gpu-fraction", "0.5"}}), {"n1"});
  filter(arrive("b", {{"gpu-fraction", "2"}}), {"n1"});
  clock.advance(std::chrono::milliseconds(limits.intent_ttl_ms));
  reconciler.tick();
  EXPECT_TRUE(api.touches.empty());
}

TEST_F(WakeUpsTest, WakeUpsKeepTheirDistanceAndAreTriedAgain) {
  start();
  list({make_node("n1", 1, 40960)});
  wake_those_of_before();
  filter(arrive("b", {{"gpu-fraction", "3"}}), {"n1"});
  api.touch_error = base::Error{base::ErrorCode::kUnavailable, "away"};
  reconciler.node_changed(make_node("n2", 1, 40960));
  reconciler.tick();
  reconciler.tick();
  EXPECT_EQ(api.touches.size(), 1U);
  api.touch_error.reset();
  clock.advance(std::chrono::seconds(1));
  reconciler.tick();
  clock.advance(std::chrono::seconds(1));
  reconciler.tick();
  EXPECT_EQ(api.touches.size(), 2U);
}

TEST_F(WakeUpsTest, ARefusalOfAnEndedPodKeepsNobodyWaiting) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "2"}});
  reconciler.pod_gone(pod);
  filter(pod, {"n1"});
  EXPECT_FALSE(pending.any_retryable(base::kNever, base::kNever));
}

}  // namespace
}  // namespace snug::testing::wake_ups_test
