// What a source says of the life of its watches, and lists that are asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_source.hpp"

namespace snug::kube_watch_life_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;
using ::testing::StartsWith;

class KubeWatchLifeTest : public ::testing::Test {
 protected:
  void list(const std::vector<std::string>& items, const std::string& version) {
    ScriptedReply reply;
    reply.body = list_json("PodList", items, version);
    server.script("list pods", reply);
  }
  void start() {
    source = std::make_unique<kube::KubeSource>(server.endpoint(), bench.options, bench.context());
    source->start(sink);
  }

  Bench bench;
  RecordingSink sink;
  ScriptedApi server;  // outlives the source: a watch is held until it is released
  std::unique_ptr<kube::KubeSource> source;
};

TEST_F(KubeWatchLifeTest, ARelistEndsTheWatchAndListsAtOnce) {
  list({pod_json("a", 3)}, "10");
  list({pod_json("a", 3), pod_json("b", 12)}, "20");
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 1));
  ASSERT_TRUE(sink.wait_line("pods listed a"));
  source->relist();
  ASSERT_TRUE(sink.wait_line("pods listed a b"));
  ASSERT_TRUE(server.wait_seen("watch pods", 2));
  EXPECT_THAT(server.seen("watch pods").at(1).target, HasSubstr("&resourceVersion=20&"));
}

TEST_F(KubeWatchLifeTest, TheSinkIsToldThatTheFirstListFails) {
  ScriptedReply refused;
  refused.status = 403;
  refused.body = R"({"kind":"Status","message":"no"})";
  server.script("list pods", refused);
  list({}, "10");
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 1));
  EXPECT_THAT(sink.pod_marks.get(), StartsWith("lost alive 10 lost "));
}

TEST_F(KubeWatchLifeTest, TheSinkIsToldWhetherTheWatchLives) {
  list({}, "10");
  ScriptedReply events;
  events.pieces = {event_json("ADDED", pod_json("c", 11))};
  events.end = ScriptedReply::End::kCut;
  server.script("watch pods", events);
  ScriptedReply refused;
  refused.status = 403;
  refused.body = R"({"kind":"Status","message":"no"})";
  server.script("watch pods", refused);
  start();
  ASSERT_TRUE(server.wait_seen("watch pods", 2));
  ASSERT_TRUE(server.wait_seen("list pods", 2)) << "a refused watch is listed afresh";
  // The second list is answered at once, so what follows it may have been said already.
  EXPECT_THAT(sink.pod_marks.get(), StartsWith("alive 10 lost alive alive alive 11 lost lost "));
}

}  // namespace
}  // namespace snug::kube_watch_life_test
