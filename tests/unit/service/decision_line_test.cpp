// The line that each call writes to the log at level debug.
#include "service/decision_line.hpp"

#include <gmock/gmock.h>

#include "unit/service/fixture.hpp"

namespace snug::decision_line_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::make_node;

class DecisionLineTest : public testing::ServiceTest {
 protected:
  void start_logged() {
    start();
    service::ServiceOptions options;
    options.limits = limits;
    options.answer = service::AnswerMode::kAll;
    service = std::make_unique<service::ExtenderService>(
        service::ServiceParts{ledger, pending, readiness, fence, *policy_store, placements, api,
                              metrics, kept, clock},
        options);
  }
  std::vector<std::string> take() {
    std::vector<std::string> fields = kept.fields();
    kept.clear();
    return fields;
  }

  FakeLog kept;
};

TEST_F(DecisionLineTest, EachCallHasOneLineAndAnAttemptOneRequest) {
  start_logged();
  list({make_node("n1", 1, 40'960), make_node("n2", 1, 40'960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  filter(pod, {"n1", "n2"});
  prioritize(pod, {"n1", "n2"});
  EXPECT_EQ(bind(pod, "n1"), "");
  const std::string about = " namespace=default pod=a uid=uid-a request=uid-a-";
  EXPECT_THAT(take(),
              ElementsAre(" verb=filter" + about + "1 node=n1 duration_ms=DURATION",
                          " verb=prioritize" + about + "1 node=n1 duration_ms=DURATION",
                          " verb=bind" + about + "1 node=n1 reason=bound duration_ms=DURATION"));
}

TEST_F(DecisionLineTest, ARefusalHasItsCodeAndEachAttemptItsNumber) {
  start_logged();
  list({make_node("n1", 1, 40'960)});
  const model::PodFacts large = arrive("a", {{"gpu-fraction", "2"}});
  const model::PodFacts wrong = arrive("b", {{"gpu-fraction", "x"}});
  filter(large, {"n1"});
  filter(large, {"n1"});
  filter(wrong, {"n1"});
  EXPECT_THAT(
      take(),
      ElementsAre(" verb=filter namespace=default pod=a uid=uid-a request=uid-a-1 reason=TooLarge "
                  "duration_ms=DURATION",
                  " verb=filter namespace=default pod=a uid=uid-a request=uid-a-2 reason=TooLarge "
                  "duration_ms=DURATION",
                  " verb=filter namespace=default pod=b uid=uid-b request=uid-b-1 reason=Malformed "
                  "duration_ms=DURATION"));
}

TEST_F(DecisionLineTest, AFailedBindIsSaidWithoutDebugToo) {
  kept.lowest_level = service::LogLevel::kInfo;
  start_logged();
  list({make_node("n1", 1, 40'960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  filter(pod, {"n1"});
  EXPECT_THAT(take(), IsEmpty());
  api.bind_answers.push_back(base::fail(base::ErrorCode::kUnavailable, "busy"));
  EXPECT_NE(bind(pod, "n1"), "");
  EXPECT_THAT(take(), ElementsAre(" verb=bind namespace=default pod=a uid=uid-a node=n1 "
                                  "reason=unavailable"));
}

TEST(AttemptCounterTest, ForgetsThePodsTriedLongestAgoBeyondItsLimit) {
  base::Limits limits;
  limits.max_pending_pods = 2;
  service::AttemptCounter attempts(limits);
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "a"), "a-1");
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "b"), "b-1");
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "a"), "a-2");
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "c"), "c-1");
  EXPECT_EQ(attempts.request_id(service::Verb::kBind, "b"), "b-0") << "forgotten";
  EXPECT_EQ(attempts.request_id(service::Verb::kBind, "a"), "a-2");
  EXPECT_EQ(attempts.request_id(service::Verb::kBind, "c"), "c-1");
}

TEST(AttemptCounterTest, AForgottenPodBeginsWithItsFirstAttempt) {
  service::AttemptCounter attempts(base::Limits{});
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "0123456789abcdef"), "01234567-1");
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "0123456789abcdef"), "01234567-2");
  attempts.forget("0123456789abcdef");
  attempts.forget("unknown");
  EXPECT_EQ(attempts.request_id(service::Verb::kFilter, "0123456789abcdef"), "01234567-1");
}

}  // namespace
}  // namespace snug::decision_line_test
