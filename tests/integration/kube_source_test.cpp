#include "snug/adapters/kube/kube_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/kube_support.hpp"

namespace snug::kube_source_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using End = ScriptedReply::End;

/// What stands behind each `before`, up to the next of `end` or the end of the text.
std::vector<std::string> all_behind(std::string_view text, std::string_view before,
                                    std::string_view end) {
  std::vector<std::string> found;
  for (auto at = text.find(before); at != text.npos; at = text.find(before)) {
    text.remove_prefix(at + before.size());
    found.emplace_back(text.substr(0, text.find_first_of(end)));
  }
  return found;
}

std::string parameter(const std::string& target, const std::string& name) {
  return all_behind(target, "&" + name + "=", "&").at(0);
}

class KubeSourceTest : public ::testing::Test {
 protected:
  void list(const std::vector<std::string>& items, const std::string& version) {
    ScriptedReply reply;
    reply.body = list_json("PodList", items, version);
    server.script("list pods", reply);
  }
  void watch(std::vector<std::string> pieces, End end) {
    ScriptedReply reply;
    reply.pieces = std::move(pieces);
    reply.end = end;
    server.script("watch pods", reply);
  }
  void refuse(const std::string& kind, int status) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = R"({"kind":"Status","message":"no"})";
    server.script(kind, reply);
  }
  void start() {
    source = std::make_unique<kube::KubeSource>(server.endpoint(), bench.options, bench.context());
    source->start(sink);
  }
  [[nodiscard]] std::string watched_version(std::size_t nth) {
    return parameter(server.seen("watch pods").at(nth).target, "resourceVersion");
  }

  Bench bench;
  RecordingSink sink;
  ScriptedApi server;  // outlives the source: a watch is held until it is released
  std::unique_ptr<kube::KubeSource> source;
};

TEST_F(KubeSourceTest, AListThenItsWatchInTheOrderOfTheStream) {
  list({pod_json("a", 3), pod_json("b", 5)}, "10");
  watch({event_json("ADDED", pod_json("c", 11)), event_json("MODIFIED", pod_json("a", 12)),
         event_json("DELETED", pod_json("b", 13))},
        End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod gone b"));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods listed a b", "pod changed c@11",
                                            "pod changed a@12", "pod gone b"));
  EXPECT_EQ(server.seen("list pods")[0].target,
            "/api/v1/pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed");
  const std::string target = server.seen("watch pods")[0].target;
  EXPECT_THAT(target, HasSubstr("fieldSelector=status.phase%21%3DSucceeded"));
  EXPECT_THAT(target, HasSubstr("&watch=1&allowWatchBookmarks=true&resourceVersion=10&"));
  const int seconds = std::stoi(parameter(target, "timeoutSeconds"));
  EXPECT_GE(seconds, bench.limits.watch_timeout_s);
  EXPECT_LE(seconds, 2 * bench.limits.watch_timeout_s);
}

TEST_F(KubeSourceTest, HowLongAListAndAWatchTakeToBeginIsCounted) {
  server.guard([&](const httplib::Request& request) {
    if (request.path.ends_with("/pods")) bench.clock.advance(std::chrono::milliseconds(40));
    return true;
  });
  list({}, "10");
  watch({event_json("ADDED", pod_json("c", 11))}, End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod changed c@11"));
  const Counts counts = bench.metrics.counts.get();
  EXPECT_THAT(counts.microseconds.at("list_pods ok"), ElementsAre(40'000));
  EXPECT_THAT(counts.microseconds.at("watch_pods ok"), ElementsAre(40'000));
}

TEST_F(KubeSourceTest, NodesAreListedAndWatchedToo) {
  const auto node = [](const std::string& name) {
    return R"({"metadata":{"name":")" + name + R"(","resourceVersion":"4"}})";
  };
  ScriptedReply nodes;
  nodes.body = list_json("NodeList", {node("n1")}, "9");
  server.script("list nodes", nodes);
  ScriptedReply events;
  events.pieces = {event_json("ADDED", node("n2")), event_json("DELETED", node("n1"))};
  events.end = End::kHold;
  server.script("watch nodes", events);
  start();
  ASSERT_TRUE(sink.wait_line("node gone n1"));
  EXPECT_TRUE(sink.wait_line("nodes listed n1"));
  EXPECT_TRUE(sink.wait_line("node changed n2"));
  EXPECT_EQ(server.seen("list nodes")[0].target, "/api/v1/nodes");
}

TEST_F(KubeSourceTest, AListInTinyPiecesWithItsVersionBehindTheItems) {
  const std::string text = R"({"kind":"PodList","items":[)" + pod_json("a", 1) + "," +
                           pod_json("b", 2) + R"(],"metadata":{"resourceVersion":"77"}})";
  ScriptedReply reply;
  for (std::size_t at = 0; at < text.size(); at += 3) reply.pieces.push_back(text.substr(at, 3));
  server.script("list pods", reply);
  start();
  ASSERT_TRUE(sink.wait_line("pods listed a b"));
  ASSERT_TRUE(server.wait_seen("watch pods", 1));
  EXPECT_EQ(watched_version(0), "77");
}

TEST_F(KubeSourceTest, AListThatIsCutIsAskedForAgainAndNothingOfItTaken) {
  ScriptedReply cut;
  cut.pieces = {R"({"metadata":{"resourceVersion":"5"},"items":[)" + pod_json("a", 1) + ","};
  cut.end = End::kCut;
  server.script("list pods", cut);
  list({pod_json("b", 2)}, "6");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed b"));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods begin", "pods listed b"));
}

TEST_F(KubeSourceTest, RefusedAndBrokenListsAreAskedForAgain) {
  refuse("list pods", 500);
  refuse("list pods", 403);
  ScriptedReply broken;
  broken.body = R"({"kind":"Status"})";
  server.script("list pods", broken);
  list({}, "6");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed"));
  EXPECT_EQ(server.seen("list pods").size(), 4U);
  EXPECT_THAT(bench.log.text.get(), HasSubstr("answered 403: no"));
}

TEST_F(KubeSourceTest, AWatchThatEndsGoesOnFromTheLastVersion) {
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11))}, End::kFinish);
  watch({bookmark_json("20")}, End::kFinish);
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 3));
  EXPECT_EQ(watched_version(1), "11");
  EXPECT_EQ(watched_version(2), "20");
  EXPECT_EQ(server.seen("list pods").size(), 1U);
  EXPECT_TRUE(bench.metrics.wait_restart("pods ended", 2));
}

TEST_F(KubeSourceTest, AnExpiredVersionIsListedAfreshWhereverThatIsSaid) {
  list({pod_json("a", 1)}, "10");
  watch({event_json("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"old"})")},
        End::kHold);
  list({pod_json("b", 2)}, "20");
  refuse("watch pods", 410);
  list({pod_json("c", 3)}, "30");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed c"));
  ASSERT_TRUE(server.wait_seen("watch pods", 3));
  EXPECT_EQ(watched_version(1), "20");
  EXPECT_EQ(watched_version(2), "30");
  EXPECT_TRUE(bench.metrics.wait_restart("pods expired", 2));
}

TEST_F(KubeSourceTest, VersionsThatExpireAtOnceAgainAndAgainAreListedWithWaits) {
  const std::string expired =
      event_json("ERROR", R"({"kind":"Status","code":410,"message":"too old"})");
  for (int i = 0; i < 3; ++i) watch({expired}, End::kFinish);
  start();
  ASSERT_TRUE(bench.metrics.wait_restart("pods expired", 3));
  ASSERT_TRUE(server.wait_seen("watch pods", 4));
  const auto waits = all_behind(bench.log.text.get(), "the watch of pods failed: ", ";");
  EXPECT_EQ(waits.size(), 2U) << "the first is cured by a list";
}

TEST_F(KubeSourceTest, AWatchThatGivesABookmarkAndEndsAtOnceIsAFailureToo) {
  for (const char* version : {"11", "12", "13"}) watch({bookmark_json(version)}, End::kFinish);
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 4));
  EXPECT_EQ(watched_version(3), "13");
  EXPECT_EQ(all_behind(bench.log.text.get(), "the watch of pods failed: ", ";").size(), 3U);
}

TEST_F(KubeSourceTest, AnyOtherErrorInTheStreamIsListedAfreshToo) {
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11)),
         event_json("ERROR", R"({"kind":"Status","code":500,"message":"etcd is away"})"),
         event_json("ADDED", pod_json("never", 12))},
        End::kHold);
  list({pod_json("b", 2)}, "20");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed b"));
  EXPECT_TRUE(bench.metrics.wait_restart("pods error"));
  EXPECT_THAT(bench.log.text.get(), HasSubstr("etcd is away"));
  EXPECT_THAT(bench.log.text.get(), ::testing::Not(HasSubstr("never")));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods listed", "pod changed a@11",
                                            "pods begin", "pods listed b"));
}

TEST_F(KubeSourceTest, AStreamCutInMidObjectGoesOnFromTheLastWholeOne) {
  const std::string whole = event_json("ADDED", pod_json("b", 12));
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11)), whole.substr(0, whole.size() / 2)}, End::kCut);
  watch({whole}, End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod changed b@12"));
  EXPECT_EQ(watched_version(1), "11");
  EXPECT_EQ(server.seen("list pods").size(), 1U);
  EXPECT_TRUE(bench.metrics.wait_restart("pods lost"));
}

TEST_F(KubeSourceTest, ALineThatIsNoJsonMakesTheStreamWorthless) {
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11)), "}garbage{\n",
         event_json("ADDED", pod_json("never", 12))},
        End::kHold);
  list({pod_json("b", 2)}, "20");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed b"));
  EXPECT_TRUE(bench.metrics.wait_restart("pods garbage"));
  EXPECT_FALSE(std::ranges::count(sink.lines.get(), "pod changed never@12"));
}

/// A pod whose text is longer than the limits of these tests allow.
std::string large_pod_json(const std::string& name) {
  const std::string pod = pod_json(name, 1);
  return pod.substr(0, pod.size() - 1) + R"(,"x":")" + std::string(3000, 'x') + R"("})";
}

struct UnreadableRow {
  const char* what;
  std::string object;
  const char* sentence;
};

class KubeUnreadableTest : public KubeSourceTest,
                           public ::testing::WithParamInterface<UnreadableRow> {
 protected:
  KubeUnreadableTest() { bench.limits.max_object_bytes = 1000; }
};

TEST_P(KubeUnreadableTest, AListWithAnObjectThatCannotBeReadIsNotWhole) {
  list({pod_json("a", 1), GetParam().object, pod_json("b", 2)}, "10");
  list({pod_json("a", 1)}, "20");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed a"));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods begin", "pods listed a"));
  EXPECT_THAT(bench.log.text.get(),
              HasSubstr("the list of pods failed: " + std::string(GetParam().sentence)));
  EXPECT_EQ(bench.metrics.counts.get().problems["unreadable"], 1);
}

TEST_P(KubeUnreadableTest, AWatchLineThatCannotBeReadIsListedAfreshAfterAWait) {
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11)), event_json("DELETED", GetParam().object),
         event_json("ADDED", pod_json("never", 13))},
        End::kHold);
  list({pod_json("b", 2)}, "20");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed b"));
  EXPECT_THAT(sink.pod_lines(), ElementsAre("pods begin", "pods listed", "pod changed a@11",
                                            "pods begin", "pods listed b"));
  EXPECT_TRUE(bench.metrics.wait_restart("pods unreadable"));
  EXPECT_EQ(bench.metrics.counts.get().problems["unreadable"], 1);
  EXPECT_THAT(bench.log.text.get(),
              HasSubstr("the watch of pods failed: " + std::string(GetParam().sentence)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, KubeUnreadableTest,
    ::testing::Values(
        UnreadableRow{"too_large", large_pod_json("huge"),
                      "ns/huge cannot be read: it is larger than 1000 bytes (limit "
                      "maxObjectBytes); retrying in"},
        UnreadableRow{"a_wrong_type",
                      R"({"metadata":{"name":"odd","namespace":"ns"},"spec":{"nodeName":7}})",
                      "ns/odd cannot be read: pod.spec.nodeName must be a string, not a number"},
        UnreadableRow{"too_large_and_in_another_order",
                      R"({"x":")" + std::string(3000, 'x') + R"(","metadata":{"name":"odd"}})",
                      "the object that begins `{"},
        UnreadableRow{"no_name", R"({"metadata":{"namespace":"ns"}})",
                      "the object that begins `{"}),
    [](const auto& row) { return row.param.what; });

TEST_F(KubeSourceTest, AnObjectThatStaysUnreadableIsAskedForWithLongerAndLongerWaits) {
  bench.limits.max_object_bytes = 1000;
  for (int i = 0; i < 4; ++i) list({large_pod_json("huge")}, "10");
  list({}, "20");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed"));
  const auto waits = all_behind(bench.log.text.get(), "(limit maxObjectBytes); retrying in ", " ");
  ASSERT_EQ(waits.size(), 4U);
  EXPECT_GE(std::stoll(waits[3]), 8 * bench.limits.backoff_first_ms);
}

TEST_F(KubeSourceTest, ANodeThatCannotBeReadIsNamed) {
  ScriptedReply nodes;
  nodes.body = list_json("NodeList", {R"({"metadata":{"name":"n1"},"status":7})"}, "9");
  server.script("list nodes", nodes);
  start();
  ASSERT_TRUE(sink.wait_line("nodes listed"));
  EXPECT_THAT(bench.log.text.get(), HasSubstr("the list of nodes failed: n1 cannot be read: "));
}

TEST_F(KubeSourceTest, SilenceIsGivenUpAndTheWatchGoesOn) {
  bench.limits.watch_silence_s = 3;
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11))}, End::kHold);
  watch({event_json("ADDED", pod_json("b", 12))}, End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod changed b@12"));
  EXPECT_EQ(watched_version(1), "11");
  EXPECT_TRUE(bench.metrics.wait_restart("pods silent"));
  EXPECT_EQ(server.seen("list pods").size(), 1U);
}

TEST_F(KubeSourceTest, AListThatFallsSilentIsGivenUpToo) {
  bench.limits.list_timeout_s = 3;
  ScriptedReply silent;
  silent.pieces = {R"({"items":[)"};
  silent.end = End::kHold;
  server.script("list pods", silent);
  list({pod_json("a", 1)}, "10");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed a"));
}

TEST_F(KubeSourceTest, AListThatTricklesForeverIsGivenUp) {
  bench.limits.list_total_s = 3;
  ScriptedReply trickle;
  trickle.pieces = {R"({"items":[)" + pod_json("never", 1)};
  trickle.end = End::kTrickle;
  server.script("list pods", trickle);
  list({pod_json("a", 1)}, "10");
  start();
  ASSERT_TRUE(sink.wait_line("pods listed a"));
  EXPECT_THAT(bench.log.text.get(),
              HasSubstr("the list of pods failed: it had not ended after 3 s; retrying in"));
}

TEST_F(KubeSourceTest, AWatchThatTricklesLongAfterItsTimeIsGivenUpAndGoesOn) {
  bench.limits.watch_timeout_s = 1;
  bench.limits.watch_silence_s = 3;
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11))}, End::kTrickle);
  watch({event_json("ADDED", pod_json("b", 12))}, End::kHold);
  start();
  ASSERT_TRUE(sink.wait_line("pod changed b@12"));
  EXPECT_EQ(watched_version(1), "11");
  EXPECT_EQ(server.seen("list pods").size(), 1U);
  EXPECT_TRUE(bench.metrics.wait_restart("pods lost"));
}

TEST_F(KubeSourceTest, AWatchThatEndsAtOnceIsAFailureAndWaitsLongerEachTime) {
  list({}, "10");
  for (int i = 0; i < 5; ++i) watch({"\n"}, End::kFinish);
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 6));
  EXPECT_EQ(server.seen("list pods").size(), 1U);
  const auto waits =
      all_behind(bench.log.text.get(), "watch of pods failed: it ended at once; retrying in ", " ");
  ASSERT_EQ(waits.size(), 5U);
  std::int64_t step = bench.limits.backoff_first_ms;
  for (const std::string& wait : waits) {
    EXPECT_GE(std::stoll(wait), step);
    EXPECT_LE(std::stoll(wait), 2 * step);
    step = std::min(2 * step, bench.limits.backoff_last_ms);
  }
}

TEST_F(KubeSourceTest, AServerThatAsksForPatienceGetsIt) {
  bench.limits.backoff_last_ms = 300;
  list({}, "10");
  ScriptedReply busy;
  busy.status = 429;
  busy.headers["Retry-After"] = "3600";
  server.script("watch pods", busy);
  start();
  ASSERT_TRUE(bench.log.wait_for("retrying in 300 ms"));
}

TEST_F(KubeSourceTest, ABusyServerIsNotAskedForAWholeList) {
  list({}, "10");
  for (const int status : {429, 500, 503}) refuse("watch pods", status);
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 4));
  EXPECT_EQ(watched_version(3), "10");
  EXPECT_EQ(server.seen("list pods").size(), 1U);
  EXPECT_TRUE(bench.metrics.wait_restart("pods busy", 3));
}

TEST_F(KubeSourceTest, AVersionThatTheServerDoesNotKnowIsListedAfresh) {
  list({}, "10");
  ScriptedReply behind;
  behind.status = 504;
  behind.body = R"({"kind":"Status","message":"Too large resource version: 10, current: 5"})";
  server.script("watch pods", behind);
  list({}, "5");
  refuse("watch pods", 400);
  list({}, "6");
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 3));
  EXPECT_EQ(watched_version(1), "5");
  EXPECT_EQ(watched_version(2), "6");
  EXPECT_TRUE(bench.metrics.wait_restart("pods refused", 2));
}

TEST_F(KubeSourceTest, ARotatedTokenIsReadAfterA401) {
  // The source asks on until it is destroyed, after this body.
  const auto folder = std::make_shared<const TempFolder>();
  const auto rotated = std::make_shared<std::atomic<bool>>(false);
  kube::ApiEndpoint endpoint = server.endpoint();
  endpoint.token.path = folder->write("token", "old");
  server.guard([folder, rotated](const httplib::Request& request) {
    if (request.has_param("watch") && !rotated->exchange(true)) folder->write("token", "new");
    return request.get_header_value("Authorization") == (*rotated ? "Bearer new" : "Bearer old");
  });
  list({}, "10");
  watch({event_json("ADDED", pod_json("a", 11))}, End::kHold);
  source = std::make_unique<kube::KubeSource>(endpoint, bench.options, bench.context());
  source->start(sink);
  ASSERT_TRUE(sink.wait_line("pod changed a@11"));
}

TEST_F(KubeSourceTest, StopEndsWatchesAndNothingComesAfterIt) {
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 1));
  ASSERT_TRUE(server.wait_seen("watch nodes", 1));
  source->stop();
  const auto before = sink.lines.get();
  source->stop();
  source.reset();
  EXPECT_EQ(sink.lines.get(), before);
}

// Every wait of these takes far longer than the test's own limit unless stop() ends it.
TEST(KubeSourceFaultTest, StopEndsWhateverTheStreamsWaitFor) {
  using Manner = BadServer::Manner;
  for (const Manner manner : {Manner::kSilent, Manner::kNeverAccepts, Manner::kNotListening,
                              Manner::kCloseAfterRequest}) {
    Bench bench;
    bench.options.api_timeout = std::chrono::hours(1);
    bench.limits.list_timeout_s = 3600;
    bench.limits.backoff_first_ms = 3'600'000;
    bench.limits.backoff_last_ms = 3'600'000;
    RecordingSink sink;
    const BadServer server(manner);
    kube::KubeSource source(server.endpoint(), bench.options, bench.context());
    source.start(sink);
    ASSERT_TRUE(sink.wait_line("pods begin"));
    if (manner == Manner::kSilent) {
      ASSERT_TRUE(server.requests.wait([](int count) { return count >= 1; }));
    }
    if (manner == Manner::kNotListening || manner == Manner::kCloseAfterRequest) {
      ASSERT_TRUE(bench.log.wait_for("the list of pods failed"));
    }
    source.stop();
  }
}

TEST(KubeSourceFaultTest, AReplyWhoseHeadNeverEndsIsGivenUp) {
  Bench bench;
  bench.limits.list_total_s = 1;
  RecordingSink sink;
  const BadServer server(BadServer::Manner::kEndlessHead);
  kube::KubeSource source(server.endpoint(), bench.options, bench.context());
  source.start(sink);
  EXPECT_TRUE(bench.log.wait_for("the list of pods failed: it had not ended after 1 s"));
  source.stop();
}

TEST(KubeSourceFaultTest, AServerThatIsNotThereIsNamed) {
  Bench bench;
  RecordingSink sink;
  const BadServer server(BadServer::Manner::kNotListening);
  kube::KubeSource source(server.endpoint(), bench.options, bench.context());
  source.start(sink);
  const std::string url = "http://127.0.0.1:" + std::to_string(server.endpoint().port);
  EXPECT_TRUE(bench.log.wait_for("the list of pods failed: " + url + " cannot be connected to"));
  source.stop();
  EXPECT_THAT(bench.log.text.get(), HasSubstr("the API server is " + url + "\n"));
}

}  // namespace
}  // namespace snug::kube_source_test
