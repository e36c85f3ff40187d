#include <nlohmann/json.hpp>

#include "unit/service/fixture.hpp"

namespace snug::testing::filter_test {
namespace {

using nlohmann::json;
using FilterTest = ServiceTest;

TEST_F(FilterTest, WinnerAnswersWithTheBestNodeAlone) {
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "0.5"}}), "n2"), "");
  const json reply = filter(arrive("b", {{"gpu-fraction", "0.25"}}), {"n1", "n2"});
  EXPECT_EQ(reply["NodeNames"], json({"n2"}));
  EXPECT_EQ(reply["Error"], "");
}

TEST_F(FilterTest, AllAnswersWithEveryNodeThatFitsAndPrioritizeNamesTheBestAlone) {
  start(service::AnswerMode::kAll);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960), make_node("n3", 1, 1000)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "0.5"}}), "n2"), "");
  const model::PodFacts pod = arrive("b", {{"gpu-memory", "4G"}});
  EXPECT_EQ(filter(pod, {"n1", "n2", "n3"})["NodeNames"], json({"n1", "n2"}));
  EXPECT_EQ(prioritize(pod, {"n1", "n2"}), json::parse(R"([{"Host":"n2","Score":10}])"));
}

TEST_F(FilterTest, AdviseGivesTenToTheBestOnly) {
  start(service::AnswerMode::kAdvise);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "0.5"}}), "n2"), "");
  const model::PodFacts pod = arrive("b", {{"gpu-fraction", "0.25"}});
  EXPECT_EQ(filter(pod, {"n1", "n2"})["NodeNames"], json({"n1", "n2"}));
  EXPECT_EQ(prioritize(pod, {"n1", "n2"}),
            json::parse(R"([{"Host":"n1","Score":0},{"Host":"n2","Score":10}])"));
}

TEST_F(FilterTest, AutoAdvisesPodsWithSoftPreferencesOnly) {
  start(service::AnswerMode::kAuto);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts plain = arrive("a", {{"gpu-fraction", "0.5"}});
  EXPECT_EQ(filter(plain, {"n1", "n2"})["NodeNames"], json({"n1"}));
  json pod = pod_json(arrive("b", {{"gpu-fraction", "0.5"}}));
  pod["spec"]["affinity"] = json::parse(
      R"({"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":
          [{"weight":1,"preference":{}}]}})");
  std::string body = json{{"Pod", pod}, {"NodeNames", {"n1", "n2"}}}.dump();
  EXPECT_EQ(json::parse(service->filter(body).body)["NodeNames"], json({"n1", "n2"}));
}

TEST_F(FilterTest, RefusalsNameEveryNodeOnceAndAreNeverAnError) {
  start();
  list({make_node("n1", 1, 40960), make_node("n2", 1, 1000)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "1"}}), "n1"), "");
  const json reply = filter(arrive("b", {{"gpu-memory", "4G"}}), {"n1", "n2", "n3"});
  EXPECT_EQ(reply["NodeNames"], json::array());
  EXPECT_EQ(reply["Error"], "");
  EXPECT_TRUE(reply["FailedNodes"].empty());
  const json& failed = reply["FailedAndUnresolvableNodes"];
  ASSERT_EQ(failed.size(), 3U);
  EXPECT_THAT(failed["n1"].get<std::string>(), ::testing::StartsWith("NoRoom: "));
  EXPECT_THAT(failed["n2"].get<std::string>(), ::testing::StartsWith("TooLarge: "));
  EXPECT_THAT(failed["n3"].get<std::string>(), ::testing::StartsWith("UnknownNode: "));
}

TEST_F(FilterTest, From138OnLackOfRoomMayBeResolvedByEviction) {
  kubernetes_minor = 38;
  start();
  list({make_node("n1", 1, 40960), make_node("n2", 1, 1000)});
  ASSERT_EQ(bind(arrive("a", {{"gpu-fraction", "1"}}), "n1"), "");
  const json reply = filter(arrive("b", {{"gpu-memory", "4G"}}), {"n1", "n2"});
  EXPECT_TRUE(reply["FailedNodes"].contains("n1"));
  EXPECT_TRUE(reply["FailedAndUnresolvableNodes"].contains("n2"));
}

TEST_F(FilterTest, AMalformedPodIsRefusedEverywhereWithItsSentence) {
  start();
  list({make_node("n1", 1, 40960)});
  const json reply = filter(arrive("b", {{"gpu-fraction", "0.25x"}}), {"n1"});
  const auto text = reply["FailedAndUnresolvableNodes"]["n1"].get<std::string>();
  EXPECT_THAT(text, ::testing::StartsWith("Malformed: gpu-fraction"));
  EXPECT_THAT(text, ::testing::HasSubstr("0.25x"));
}

TEST_F(FilterTest, APodWithoutRequestGetsAllItsInputBack) {
  start();
  list({});
  EXPECT_EQ(filter(arrive("plain", {}), {"b", "a"})["NodeNames"], json({"b", "a"}));
}

TEST_F(FilterTest, OnlyPodsThatAskForGpusNeedAServedScheduler) {
  scheduler_names = {"another"};
  start();
  list({make_node("n1", 1, 40960)});
  const auto refused = filter(arrive("a", {{"gpu-fraction", "0.5"}}), {"n1"});
  EXPECT_THAT(refused["FailedAndUnresolvableNodes"]["n1"].get<std::string>(),
              ::testing::StartsWith("NotServed"));
  EXPECT_EQ(filter(arrive("plain", {}), {"n1"})["NodeNames"], nlohmann::json({"n1"}));
}

TEST_F(FilterTest, TwoPodsInFlightDoNotRaceForOnePlace) {
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts a = arrive("a", {{"gpu-fraction", "1"}});
  const model::PodFacts b = arrive("b", {{"gpu-fraction", "1"}});
  EXPECT_EQ(filter(a, {"n1", "n2"})["NodeNames"], json({"n1"}));
  EXPECT_EQ(filter(b, {"n1", "n2"})["NodeNames"], json({"n2"}));
  const model::PodFacts c = arrive("c", {{"gpu-fraction", "1"}});
  const json refused = filter(c, {"n1", "n2"});
  EXPECT_EQ(refused["NodeNames"], json::array());
  for (const char* name : {"n1", "n2"}) {
    EXPECT_EQ(refused["FailedAndUnresolvableNodes"][name],
              model::message(model::ReasonCode::kPromised));
  }
  EXPECT_EQ(bind(c, "n1"), model::message(model::ReasonCode::kPromised));
  EXPECT_EQ(metrics.ends[service::BindOutcome::kPlaceTaken], 1);
  EXPECT_EQ(bind(a, "n1"), "");
  EXPECT_EQ(bind(b, "n2"), "");
}

/// In `all` filter keeps several, and prioritize names the one that gets the promise.
TEST_F(FilterTest, TheWinnerThatPrioritizeNamesIsPromisedToo) {
  start(service::AnswerMode::kAll);
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts a = arrive("a", {{"gpu-fraction", "1"}});
  EXPECT_EQ(filter(a, {"n1", "n2"})["NodeNames"], json({"n1", "n2"}));
  prioritize(a, {"n1", "n2"});
  const model::PodFacts b = arrive("b", {{"gpu-fraction", "1"}});
  EXPECT_EQ(filter(b, {"n1", "n2"})["NodeNames"], json({"n2"}));
  EXPECT_EQ(bind(a, "n1"), "");
  EXPECT_EQ(bind(b, "n2"), "");
}

TEST_F(FilterTest, ABindThatFailsEndsThePromise) {
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960), make_node("n2", 0, 40960)});
  const model::PodFacts a = arrive("a", {{"gpu-fraction", "1"}});
  const model::PodFacts b = arrive("b", {{"gpu-fraction", "1"}});
  filter(a, {"n1"});
  EXPECT_EQ(filter(b, {"n1"})["NodeNames"], json::array());
  EXPECT_NE(bind(a, "n2"), "");
  EXPECT_EQ(filter(b, {"n1"})["NodeNames"], json({"n1"}));
}

class HeldPodTest : public ServiceTest,
                    public ::testing::WithParamInterface<service::AnswerMode> {};

/// A bind of unknown outcome keeps its reservation: nothing is planned for the pod anew, however
/// good other nodes are.
TEST_P(HeldPodTest, OnlyTheNodeOfItsReservationIsKept) {
  start(GetParam());
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  ASSERT_EQ(bind(arrive("other", {{"gpu-fraction", "0.5"}}), "n2"), "");  // n2 is better now
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.push_back(base::fail(base::ErrorCode::kUnknown, "time-out"));
  ASSERT_NE(bind(pod, "n1"), "");
  const base::Generation before = ledger.snapshot()->generation;

  const json kept = filter(pod, {"n2", "n1", "n9"});
  EXPECT_EQ(kept["NodeNames"], json({"n1"}));
  const json without = filter(pod, {"n2", "n9"});
  EXPECT_EQ(without["NodeNames"], json::array());
  for (const char* name : {"n2", "n9"}) {
    EXPECT_EQ(without["FailedAndUnresolvableNodes"][name],
              model::message(model::ReasonCode::kUnsettled));
  }
  for (const json& score : prioritize(pod, {"n2", "n1"})) {
    EXPECT_EQ(score["Score"], score["Host"] == "n1" ? 10 : 0);
  }
  EXPECT_EQ(ledger.snapshot()->generation, before) << "no intent is noted beside the reservation";
  EXPECT_EQ(bind(pod, "n1"), "");
}

/// The node of a reservation may be gone from the ledger.
TEST_P(HeldPodTest, ItsNodeIsKeptThoughTheLedgerDoesNotKnowIt) {
  start(GetParam());
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.bind_answers.push_back(base::fail(base::ErrorCode::kUnknown, "time-out"));
  ASSERT_NE(bind(pod, "n1"), "");
  reconciler.node_gone("n1");
  EXPECT_EQ(filter(pod, {"n1", "n2"})["NodeNames"], json({"n1"}));
}

INSTANTIATE_TEST_SUITE_P(Modes, HeldPodTest,
                         ::testing::Values(service::AnswerMode::kWinner, service::AnswerMode::kAll,
                                           service::AnswerMode::kAdvise));

TEST_F(FilterTest, ARequestThatIsMalformedSinceEndsThePromise) {
  start(service::AnswerMode::kWinner);
  list({make_node("n1", 1, 40960)});
  model::PodFacts a = arrive("a", {{"gpu-fraction", "1"}});
  filter(a, {"n1"});
  a.annotations["gpu-fraction"] = "1.5";
  filter(a, {"n1"});
  EXPECT_EQ(filter(arrive("b", {{"gpu-fraction", "1"}}), {"n1"})["NodeNames"], json({"n1"}));
}

TEST_F(FilterTest, BeforeTheListsAreInTheAnswerIs503) {
  start();
  const json reply = filter(make_pod("a", {}), {"n1"}, 503);
  EXPECT_NE(reply["Error"], "");
}

class RecordingFirstSight final : public service::PodCreator {
 public:
  [[nodiscard]] base::Result<void> post_pod(const model::PodFacts& pod) override {
    posted.push_back(pod.uid);
    return answer;
  }
  std::vector<std::string> posted;
  base::Result<void> answer;
};

TEST_F(FilterTest, APodIsCreatedOnceItsCallCanBeReadAndSnugIsReady) {
  RecordingFirstSight creates;
  first_sight = &creates;
  start();
  const model::PodFacts pod = make_pod("a", {{"gpu-fraction", "0.5"}});
  EXPECT_NE(filter(pod, {"n1"}, 503)["Error"], "");
  list({make_node("n1", 1, 40960)});
  std::string unreadable = json{{"Pod", pod_json(pod)}, {"NodeNames", {"n1", 7}}}.dump();
  EXPECT_EQ(service->filter(unreadable).status, 400);
  EXPECT_TRUE(creates.posted.empty());
  EXPECT_EQ(filter(pod, {"n1"})["NodeNames"], json({"n1"}));
  EXPECT_EQ(creates.posted, (std::vector<std::string>{"uid-a"}));
}

TEST_F(FilterTest, APodThatCannotBeCreatedIsAnErrorAndLeavesNothing) {
  struct Row {
    base::ErrorCode code;
    int status;
  };
  for (const Row& row : {Row{base::ErrorCode::kConflict, 409}, Row{base::ErrorCode::kInvalid, 400},
                         Row{base::ErrorCode::kTooLarge, 400}}) {
    SCOPED_TRACE(row.status);
    RecordingFirstSight refuses;
    refuses.answer = base::fail(row.code, "no such pod can be");
    first_sight = &refuses;
    start();
    list({make_node("n1", 1, 40960)});
    const json reply = filter(make_pod("a", {{"gpu-fraction", "0.5"}}), {"n1"}, row.status);
    EXPECT_EQ(reply["Error"], "no such pod can be");
    EXPECT_TRUE(ledger.snapshot()->intents.empty());
    EXPECT_FALSE(pending.any_retryable(base::kNever, base::kNever));
  }
}

}  // namespace
}  // namespace snug::testing::filter_test
