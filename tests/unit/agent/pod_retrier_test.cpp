#include "snug/agent_service/pod_retrier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "support/fake_ports.hpp"

namespace snug::pod_retrier_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr seconds kLate{base::agent_limits::pod_retry_late_ms / 1000};

/// An API server that writes the annotation, which the watch then shows.
class RetriedPods final : public agent_service::WaitingPodPort {
 public:
  struct Call {
    std::string pod;
    std::string value;
    base::TimePoint at;
  };
  RetriedPods(agent_service::PodBook& book, const base::Clock& clock)
      : book_(book), clock_(clock) {}

  base::Result<void> retry(std::string_view name_space, std::string_view name, std::string_view uid,
                           std::string_view value) override {
    EXPECT_EQ(name_space, "ns");
    calls.push_back({std::string(name), std::string(value), clock_.now()});
    if (broken_pod == name || (broken_pod.empty() && error)) return std::unexpected(*error);
    const auto found = book_.lookup(uid, name_space, name);
    if (found == nullptr) return base::fail(base::ErrorCode::kNotFound, "gone");
    agent::PodView pod = *found;
    pod.annotations.insert_or_assign("snug.dev/retry", value);
    book_.pod_changed(std::move(pod));
    return {};
  }
  /// The names of the pods that were retried since the last call.
  std::vector<std::string> take() {
    std::vector<std::string> names;
    for (const Call& call : std::exchange(calls, {})) names.push_back(call.pod);
    return names;
  }

  std::vector<Call> calls;
  std::optional<base::Error> error;
  std::string broken_pod;  // the error is for this one only; empty: for all

 private:
  agent_service::PodBook& book_;
  const base::Clock& clock_;
};

class PodRetrierTest : public ::testing::Test {
 protected:
  /// Ticks every 50 ms, for `time`.
  void run(milliseconds time) {
    for (milliseconds gone{0}; gone < time; gone += milliseconds(50)) {
      clock.advance(milliseconds(50));
      retrier.tick(clock.now());
    }
  }
  void show(const std::string& name, const std::string& message, const std::string& value = "") {
    agent::PodView pod{.name_space = "ns", .name = name, .uid = "u-" + name};
    pod.runtime_uid = pod.uid;
    if (!value.empty()) pod.annotations = {{"snug.dev/retry", value}};
    pod.containers = {{.name = "main"}};
    if (!message.empty()) {
      pod.containers[0].waiting_reason = "CreateContainerError";
      pod.containers[0].waiting_message = message;
    }
    book.pod_changed(std::move(pod));
  }
  void show_gone(const std::string& name) {
    book.pod_gone({.name_space = "ns", .name = name, .uid = "u-" + name});
  }
  std::vector<std::string> warnings() {
    std::vector<std::string> texts;
    for (const auto& [level, text] : log.entries()) {
      if (level == service::LogLevel::kWarn) texts.push_back(text);
    }
    return texts;
  }

  base::ManualClock clock;
  FakeLog log;
  agent_service::PodBook book;
  RetriedPods pods{book, clock};
  agent_service::PodRetrier retrier{pods, book, log};
};

const std::string kAbsent = R"(required plugin "snug" not present)";

TEST_F(PodRetrierTest, NoPodIsRetriedBeforeTheAgentCanGiveAnything) {
  show("a", kAbsent);
  run(seconds(60));
  EXPECT_THAT(pods.calls, IsEmpty());
}

TEST_F(PodRetrierTest, AChangeRetriesEachPodThatWaitsOnce) {
  show("a", kAbsent);
  show("b", "snug: the slice is not made yet");
  show("c", "");
  retrier.can_give_more();
  run(milliseconds(50));
  EXPECT_THAT(pods.take(), ElementsAre("a", "b"));
  // Both still wait; what the retry wrote comes back by the watch.
  run(seconds(600));
  EXPECT_THAT(pods.calls, IsEmpty());
}

TEST_F(PodRetrierTest, ARefusalThatIsShownAfterTheChangeIsRetriedToo) {
  show("a", "");
  show("late", "");
  retrier.can_give_more();
  run(seconds(2));
  EXPECT_THAT(pods.calls, IsEmpty());
  show("a", kAbsent);
  run(seconds(60));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
  // The kubelet tried this one after the change, so another try would fail, too.
  show("late", "snug: GPU 0 is lost");
  run(seconds(60));
  EXPECT_THAT(pods.calls, IsEmpty());
}

TEST_F(PodRetrierTest, TheTimeForLateRefusalsEnds) {
  retrier.can_give_more();
  run(kLate);
  show("a", kAbsent);
  run(milliseconds(50));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
  show("b", kAbsent);
  run(seconds(60));
  EXPECT_THAT(pods.calls, IsEmpty());
}

TEST_F(PodRetrierTest, ARefusalForAnotherReasonWaitsForTheNextChange) {
  show("a", kAbsent);
  retrier.can_give_more();
  run(milliseconds(50));
  show("a", "snug: the slice is not made yet", "1");
  run(seconds(3));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
  retrier.can_give_more();
  run(milliseconds(50));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
}

TEST_F(PodRetrierTest, APodThatFlapsIsRetriedOnceForEachChange) {
  retrier.can_give_more();
  for (int i = 0; i < 8; ++i) {
    show("a", kAbsent);
    run(milliseconds(250));
    show("a", "");
    run(milliseconds(250));
  }
  EXPECT_THAT(pods.take(), SizeIs(1));
}

TEST_F(PodRetrierTest, ManyChangesRetryAPodMoreAndMoreSeldom) {
  show("a", kAbsent);
  for (int i = 0; i < 300; ++i) {
    retrier.can_give_more();
    run(milliseconds(100));
  }
  std::vector<std::int64_t> waits;
  for (std::size_t i = 1; i < pods.calls.size(); ++i) {
    waits.push_back(
        std::chrono::duration_cast<milliseconds>(pods.calls[i].at - pods.calls[i - 1].at).count());
  }
  EXPECT_THAT(waits, ElementsAre(2'000, 4'000, 8'000, 8'000));
}

TEST_F(PodRetrierTest, AChangeDuringTheWaitOfAPodIsNotLost) {
  show("a", kAbsent);
  retrier.can_give_more();
  run(milliseconds(100));
  retrier.can_give_more();
  run(seconds(1));
  EXPECT_THAT(pods.take(), SizeIs(1));
  run(seconds(1));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
}

TEST_F(PodRetrierTest, APodThatWaitsNoLongerIsNotRetriedWhenItsTimeComes) {
  show("a", kAbsent);
  retrier.can_give_more();
  run(milliseconds(100));
  retrier.can_give_more();
  run(seconds(1));
  show("a", "");
  run(seconds(60));
  EXPECT_THAT(pods.take(), SizeIs(1));
}

TEST_F(PodRetrierTest, EachRetryWritesAValueThatThePodDoesNotHave) {
  show("new", kAbsent);
  show("old", kAbsent, "41");
  show("odd", kAbsent, "7x");
  retrier.can_give_more();
  run(milliseconds(50));
  ASSERT_THAT(pods.calls, SizeIs(3));
  EXPECT_EQ(pods.calls[0].value, "1");
  EXPECT_EQ(pods.calls[1].value, "1") << "of odd";
  EXPECT_EQ(pods.calls[2].value, "42");
  // The watch is behind.
  show("old", kAbsent, "41");
  pods.take();
  retrier.can_give_more();
  run(seconds(3));
  ASSERT_THAT(pods.calls, SizeIs(3));
  EXPECT_EQ(pods.calls[2].value, "43");
}

TEST_F(PodRetrierTest, APodThatIsGoneIsForgotten) {
  show("a", kAbsent);
  show("b", kAbsent);
  pods.error = base::Error{base::ErrorCode::kNotFound, "another uid"};
  pods.broken_pod = "a";
  retrier.can_give_more();
  run(seconds(60));
  EXPECT_THAT(pods.take(), ElementsAre("a", "b"));
  EXPECT_THAT(log.entries(), IsEmpty());
  // A pod that the watch shows as gone, while its retry is due.
  pods.error->code = base::ErrorCode::kUnavailable;
  retrier.can_give_more();
  run(milliseconds(50));
  EXPECT_THAT(pods.take(), ElementsAre("a"));
  show_gone("a");
  run(seconds(60));
  EXPECT_THAT(pods.take(), ElementsAre("b"));
}

TEST_F(PodRetrierTest, WhileTheApiServerIsDownItIsAskedSeldomAndThePodsAreRetriedLater) {
  show("a", kAbsent);
  show("b", kAbsent);
  pods.error = base::Error{base::ErrorCode::kUnavailable, "no route"};
  retrier.can_give_more();
  run(seconds(60));
  EXPECT_THAT(pods.take(), SizeIs(5)) << "after 0, 2, 6, 14 and 30 seconds";
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("no route")));
  pods.error.reset();
  run(seconds(40));
  EXPECT_THAT(pods.take(), ::testing::UnorderedElementsAre("a", "b"));
  EXPECT_EQ(log.entries().back().second, "waiting pods are retried again");
}

TEST_F(PodRetrierTest, AnUnknownOutcomeIsRepeatedWithANewValue) {
  show("a", kAbsent);
  pods.error = base::Error{base::ErrorCode::kUnknown, "cut off"};
  retrier.can_give_more();
  run(milliseconds(50));
  pods.error.reset();
  run(seconds(10));
  ASSERT_THAT(pods.calls, SizeIs(2));
  EXPECT_EQ(pods.calls[1].value, "2");
}

TEST_F(PodRetrierTest, OnePodWhoseRetryFailsDelaysTheOthersOnlyOnce) {
  for (const char* name : {"a", "b", "c"}) show(name, kAbsent);
  pods.error = base::Error{base::ErrorCode::kUnknown, "500"};
  pods.broken_pod = "a";
  retrier.can_give_more();
  run(milliseconds(2'100));
  EXPECT_THAT(pods.take(), ElementsAre("a", "b", "c"));
}

TEST_F(PodRetrierTest, ARefusedRetryIsNotRepeatedAndDelaysNoOther) {
  for (const char* name : {"a", "b"}) show(name, kAbsent);
  pods.error = base::Error{base::ErrorCode::kInvalid, "403"};
  retrier.can_give_more();
  run(seconds(60));
  EXPECT_THAT(pods.take(), ElementsAre("a", "b"));
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("403")));
}

TEST_F(PodRetrierTest, TwoHundredPodsAreRetriedWithinTheRateOfTheNode) {
  for (int i = 0; i < 200; ++i) show("p" + std::to_string(i), kAbsent);
  retrier.can_give_more();
  const base::TimePoint start = clock.now();
  run(seconds(1));
  retrier.can_give_more();
  run(seconds(60));
  std::map<std::string, std::vector<base::TimePoint>> by_pod;
  for (const auto& call : pods.calls) by_pod[call.pod].push_back(call.at);
  ASSERT_EQ(by_pod.size(), 200U);
  for (const auto& [pod, times] : by_pod) {
    EXPECT_LE(times.front() - start, seconds(9)) << pod;
    EXPECT_LE(times.size(), 2U) << pod;
    EXPECT_GE(times.back() - times.front(), seconds(2) * (std::ssize(times) - 1)) << pod;
  }
  const auto expect_apart = [&](std::int64_t most, milliseconds time) {
    for (std::size_t i = 0; i + static_cast<std::size_t>(most) < pods.calls.size(); ++i)
      EXPECT_GE(pods.calls[i + static_cast<std::size_t>(most)].at - pods.calls[i].at, time) << i;
  };
  expect_apart(base::agent_limits::max_pod_retries_per_s, seconds(1));
  expect_apart(base::agent_limits::max_pod_retries_at_once, milliseconds(50));
}

}  // namespace
}  // namespace snug::pod_retrier_test
