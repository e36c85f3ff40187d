// The watch of the agents' heartbeats, against a server that follows a script.
#include "snug/adapters/kube/kube_heartbeats.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "integration/kube_support.hpp"

namespace snug::kube_heartbeats_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The calls, one word each.
class WordSink final : public service::HeartbeatSink {
 public:
  void heartbeats_listed(std::vector<model::AgentHeartbeat> heartbeats) override {
    std::string word = "listed";
    for (const auto& [node, renew_time] : heartbeats) word += " " + node + "@" + renew_time;
    note(word);
  }
  void heartbeat_changed(model::AgentHeartbeat heartbeat) override {
    note(heartbeat.node + "@" + heartbeat.renew_time);
  }
  void heartbeat_gone(std::string_view node) override { note(std::string(node) + " gone"); }
  void stream_alive() override { turn("alive"); }
  void stream_lost() override { turn("lost"); }
  [[nodiscard]] bool wait(std::size_t count) const {
    return words.wait([&](const auto& all) { return all.size() >= count; });
  }

  Watched<std::vector<std::string>> words;
  Watched<std::vector<std::string>> turns;  // of the watch: "alive" and "lost" in turn

 private:
  void turn(const std::string& word) {
    turns.change([&](std::vector<std::string>& all) {
      if (all.empty() || all.back() != word) all.push_back(word);
    });
  }
  void note(const std::string& word) {
    words.change([&](std::vector<std::string>& all) { all.push_back(word); });
  }
};

std::string lease(const std::string& name, const std::string& holder, const std::string& renewed,
                  int version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) +
         R"("},"spec":{"holderIdentity":")" + holder + R"(","renewTime":")" + renewed + R"("}})";
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

class KubeHeartbeatsTest : public ::testing::Test {
 protected:
  void answer(const std::string& kind, int status, const std::string& body) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = body;
    server.script(kind, reply);
  }

  Bench bench;
  WordSink sink;
  ScriptedApi server;
};

TEST_F(KubeHeartbeatsTest, ListAndWatchShowEachRenewal) {
  answer("list leases", 200,
         list_json("LeaseList", {lease("agent.n1", "n1", "t0", 7), lease("agent.n2", "x", "t0", 8)},
                   "9"));
  ScriptedReply events;
  events.pieces = {event("MODIFIED", lease("agent.n1", "n1", "t1", 10)),
                   event("ADDED", lease("agent.n3", "n3", "t1", 11)),
                   event("DELETED", lease("agent.n1", "n1", "t1", 12))};
  events.end = ScriptedReply::End::kHold;
  server.script("watch leases", events);
  kube::KubeHeartbeats heartbeats(server.endpoint(), bench.options, bench.context(), "snug");
  heartbeats.start_watch(sink);
  EXPECT_TRUE(sink.wait(4));
  EXPECT_THAT(sink.words.get(), ElementsAre("listed n1@t0 @", "n1@t1", "n3@t1", "n1 gone"));
  EXPECT_EQ(server.seen("list leases")[0].target,
            "/apis/coordination.k8s.io/v1/namespaces/snug/leases?labelSelector=snug.dev%2Fagent%3D"
            "true");
  EXPECT_THAT(server.seen("watch leases")[0].target, HasSubstr("&watch=1&"));
  heartbeats.stop_watch();
}

TEST_F(KubeHeartbeatsTest, AnOutageOfTheWatchIsReportedUntilItWorksAgain) {
  answer("list leases", 200, list_json("LeaseList", {}, "9"));
  ScriptedReply cut;
  cut.pieces = {event("ADDED", lease("agent.n1", "n1", "t1", 10))};
  cut.end = ScriptedReply::End::kCut;
  server.script("watch leases", cut);
  answer("watch leases", 503, "");
  kube::KubeHeartbeats heartbeats(server.endpoint(), bench.options, bench.context(), "snug");
  heartbeats.start_watch(sink);
  EXPECT_TRUE(sink.turns.wait([](const auto& all) { return all.size() >= 5; }));
  // After the list, no watch works yet.
  EXPECT_THAT(sink.turns.get(), ElementsAre("alive", "lost", "alive", "lost", "alive"));
  EXPECT_GE(server.seen("watch leases").size(), 3U);
  heartbeats.stop_watch();
  EXPECT_EQ(sink.turns.get().back(), "lost");
}

TEST_F(KubeHeartbeatsTest, ARefusalIsLoggedOnceAndTriedAgain) {
  for (int i = 0; i < 3; ++i) {
    answer("list leases", 403, R"({"kind":"Status","message":"leases is forbidden"})");
  }
  answer("list leases", 200, list_json("LeaseList", {lease("agent.n1", "n1", "t0", 7)}, "9"));
  kube::KubeHeartbeats heartbeats(server.endpoint(), bench.options, bench.context(), "snug");
  heartbeats.start_watch(sink);
  EXPECT_TRUE(sink.wait(1));
  EXPECT_THAT(sink.words.get(), ElementsAre("listed n1@t0"));
  heartbeats.stop_watch();
  EXPECT_EQ(server.seen("list leases").size(), 4U);
  EXPECT_THAT(bench.log.warnings.get(), ElementsAre(HasSubstr("leases is forbidden")));
}

}  // namespace
}  // namespace snug::kube_heartbeats_test
