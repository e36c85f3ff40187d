// What the agent reads and writes at the API server: the marks on its node, its heartbeat Lease,
// the pods of its node and the annotation by which they are retried.
#include "snug/adapters/kube/kube_node.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_node_pods.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::kube_node_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using Marks = agent_service::NodePort::Marks;

constexpr const char* kLeasesPath = "/apis/coordination.k8s.io/v1/namespaces/snug/leases";
constexpr const char* kNoLease =
    R"({"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound",
        "details":{"name":"agent.n1","group":"coordination.k8s.io","kind":"leases"}})";
constexpr const char* kConflict =
    R"({"kind":"Status","apiVersion":"v1","code":409,"reason":"Conflict","message":"changed"})";

std::string lease_json(const std::string& holder, int version) {
  return R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"agent.n1",
      "namespace":"snug","resourceVersion":")" +
         std::to_string(version) + R"(","labels":{"team":"gpu"}},"spec":{"holderIdentity":")" +
         holder +
         R"(","leaseDurationSeconds":40,"leaseTransitions":1,
      "acquireTime":"2026-01-01T00:00:00.000000Z","renewTime":"2026-01-01T00:00:05.000000Z"}})";
}

class KubeNodeTest : public ::testing::Test {
 protected:
  KubeNodeTest() { bench.options.own_namespace = "snug"; }
  void answer(const std::string& kind, int status, const std::string& body) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = body;
    server.script(kind, reply);
  }
  [[nodiscard]] json written_lease(std::size_t number) const {
    return json::parse(server.seen("write lease").at(number).body);
  }

  Bench bench;
  ScriptedApi server;
};

TEST_F(KubeNodeTest, OnlyTheMarksOfTheNodeAreRead) {
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  answer(
      "get pod", 200,
      R"({"metadata":{"name":"n1","annotations":{"snug.dev/inventory":"{}","snug.dev/usage":"u","a":"b"},
             "labels":{"snug.dev/enforced":"true","c":"d"}}})");
  answer("get pod", 200, R"({"metadata":{"name":"n1"}})");
  const auto all = node.read_marks();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(*all, (Marks{"{}", "true", "u"}));
  const auto none = node.read_marks();
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, Marks{});
  EXPECT_EQ(server.seen("get pod")[0].target, "/api/v1/nodes/n1");
  EXPECT_THAT(server.seen("get pod")[0].accept, HasSubstr("as=PartialObjectMetadata;"));
}

TEST_F(KubeNodeTest, ALabelOfTheNodeIsReadAlone) {
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  const std::string labels = R"({"metadata":{"name":"n1","labels":{"a/b.c":"pending","d":7}}})";
  answer("get pod", 200, labels);
  answer("get pod", 200, labels);
  answer("get pod", 200, labels);
  answer("get pod", 503, "");
  const auto label = node.read_label("a/b.c");
  ASSERT_TRUE(label) << label.error().message;
  EXPECT_EQ(*label, "pending");
  const auto absent = node.read_label("e");
  ASSERT_TRUE(absent);
  EXPECT_EQ(*absent, std::nullopt);
  EXPECT_EQ(node.read_label("d").error().code, base::ErrorCode::kInvalid);
  EXPECT_EQ(node.read_label("a/b.c").error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(server.seen("get pod")[0].target, "/api/v1/nodes/n1");
  EXPECT_THAT(server.seen("get pod")[0].accept, HasSubstr("as=PartialObjectMetadata;"));
}

TEST_F(KubeNodeTest, AReadThatFailsSaysWhetherTheNodeIsAbsent) {
  struct Row {
    int status;
    std::string body;
    base::ErrorCode code;
  };
  const Row rows[] = {
      {404, R"({"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound",
               "details":{"name":"n1","kind":"nodes"}})",
       base::ErrorCode::kNotFound},
      {404, "<html>", base::ErrorCode::kUnavailable},
      {503, "", base::ErrorCode::kUnavailable},
      {200, R"({"metadata":{"labels":{"snug.dev/enforced":true}}})", base::ErrorCode::kInvalid},
      {200, "{}", base::ErrorCode::kInvalid}};
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  for (const Row& row : rows) {
    answer("get pod", row.status, row.body);
    const auto marks = node.read_marks();
    ASSERT_FALSE(marks) << row.body;
    EXPECT_EQ(marks.error().code, row.code) << row.status << row.body;
  }
}

TEST_F(KubeNodeTest, TheMarksAreOneMergePatchInWhichNullRemoves) {
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.write_marks({.inventory = "{\"v\":1}", .enforced = "true", .usage = "u"}));
  ASSERT_TRUE(node.write_marks({}));
  const auto seen = server.seen("patch");
  ASSERT_EQ(seen.size(), 2U);
  for (const SeenRequest& request : seen) {
    EXPECT_EQ(request.target, "/api/v1/nodes/n1");
    EXPECT_EQ(request.content_type, "application/merge-patch+json");
  }
  const auto patch = [](const json& inventory, const json& enforced, const json& usage) {
    return json{{"metadata",
                 {{"annotations", {{"snug.dev/inventory", inventory}, {"snug.dev/usage", usage}}},
                  {"labels", {{"snug.dev/enforced", enforced}}}}}};
  };
  EXPECT_EQ(json::parse(seen[0].body), patch("{\"v\":1}", "true", "u"));
  EXPECT_EQ(json::parse(seen[1].body), patch(nullptr, nullptr, nullptr));
  EXPECT_EQ(bench.metrics.counts.get().requests["patch_node ok"], 2);
}

TEST_F(KubeNodeTest, AnAnswerToAPatchOfTheMarksSaysWhetherItWasExecuted) {
  const std::pair<int, base::ErrorCode> rows[] = {{404, base::ErrorCode::kNotFound},
                                                  {403, base::ErrorCode::kInvalid},
                                                  {409, base::ErrorCode::kConflict},
                                                  {429, base::ErrorCode::kUnavailable},
                                                  {500, base::ErrorCode::kUnknown}};
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  for (const auto& [status, code] : rows) {
    answer("patch", status,
           R"({"kind":"Status","apiVersion":"v1","reason":"NotFound","message":"no","code":)" +
               std::to_string(status) + "}");
    const auto written = node.write_marks({});
    ASSERT_FALSE(written) << status;
    EXPECT_EQ(written.error().code, code) << status;
  }
  kube::KubeNode bad_name(server.endpoint(), bench.options, bench.context(), "../n1");
  EXPECT_FALSE(bad_name.write_marks({}));
  EXPECT_FALSE(bad_name.read_marks());
  EXPECT_FALSE(bad_name.renew_heartbeat());
}

TEST_F(KubeNodeTest, ARetryPatchesTheStatusOfThePodWithThisUid) {
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.retry("ns", "a", "u-a", "7"));
  const auto seen = server.seen("patch");
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].target, "/api/v1/namespaces/ns/pods/a/status");
  EXPECT_EQ(seen[0].content_type, "application/merge-patch+json");
  EXPECT_THAT(seen[0].accept, HasSubstr("as=PartialObjectMetadata;"));
  EXPECT_EQ(json::parse(seen[0].body),
            (json{{"metadata", {{"uid", "u-a"}, {"annotations", {{"snug.dev/retry", "7"}}}}}}));
  EXPECT_FALSE(node.retry("../x", "a", "u-a", "8"));
  EXPECT_FALSE(node.retry("ns", "a/b", "u-a", "8"));
  EXPECT_EQ(server.seen("patch").size(), 1U);
}

TEST_F(KubeNodeTest, APodThatIsGoneOrHasAnotherUidIsNotFound) {
  struct Row {
    int status;
    std::string reason;
    std::string message;
    base::ErrorCode code;
  };
  const Row rows[] = {
      {404, "NotFound", "pods \"a\" not found", base::ErrorCode::kNotFound},
      {422, "Invalid",
       "Pod \"a\" is invalid: metadata.uid: Invalid value: \"u-a\": field is immutable",
       base::ErrorCode::kNotFound},
      {422, "Invalid", "an agent changes only pods of the node on which it runs",
       base::ErrorCode::kInvalid},
      {403, "Forbidden", "cannot patch", base::ErrorCode::kInvalid},
      {409, "Conflict", "changed", base::ErrorCode::kConflict},
      {503, "", "", base::ErrorCode::kUnknown}};
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  for (const Row& row : rows) {
    const json body = {{"kind", "Status"},
                       {"apiVersion", "v1"},
                       {"code", row.status},
                       {"reason", row.reason},
                       {"message", row.message}};
    answer("patch", row.status, body.dump());
    const auto retried = node.retry("ns", "a", "u-a", "1");
    ASSERT_FALSE(retried) << row.message;
    EXPECT_EQ(retried.error().code, row.code) << row.message;
  }
}

TEST_F(KubeNodeTest, AHeartbeatCreatesTheLeaseAndThenRenewsItWithOneRequest) {
  answer("get lease", 404, kNoLease);
  answer("write lease", 201, lease_json("n1", 7));
  answer("write lease", 200, lease_json("n1", 8));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  const auto created_at_first = node.renew_heartbeat();
  ASSERT_TRUE(created_at_first) << created_at_first.error().message;
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_EQ(server.seen("get lease").size(), 1U);
  EXPECT_EQ(server.seen("get lease")[0].target, std::string(kLeasesPath) + "/agent.n1");
  EXPECT_EQ(bench.metrics.counts.get().requests["get_lease failed"], 0);
  const auto writes = server.seen("write lease");
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].target, kLeasesPath);
  const json created = written_lease(0);
  EXPECT_EQ(created.at("metadata"), (json{{"name", "agent.n1"},
                                          {"namespace", "snug"},
                                          {"labels", {{"snug.dev/agent", "true"}}}}));
  EXPECT_EQ(created.at("spec").at("holderIdentity"), "n1");
  EXPECT_EQ(created.at("spec").at("leaseDurationSeconds"),
            base::agent_limits::heartbeat_lost_ms / 1000);
  EXPECT_THAT(created.at("spec").at("renewTime").get<std::string>(),
              MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9][0-9][0-9][0-9]Z"));
  EXPECT_EQ(writes[1].target, std::string(kLeasesPath) + "/agent.n1");
  const json renewed = written_lease(1);
  EXPECT_EQ(renewed.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(renewed.at("metadata").at("labels"),
            (json{{"team", "gpu"}, {"snug.dev/agent", "true"}}));
  EXPECT_EQ(renewed.at("spec").at("acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_NE(renewed.at("spec").at("renewTime"), "2026-01-01T00:00:05.000000Z");
  EXPECT_EQ(renewed.at("spec").at("leaseTransitions"), 1);
}

TEST_F(KubeNodeTest, ALeaseOfAnotherHolderIsTakenOver) {
  answer("get lease", 200, lease_json("somebody", 7));
  answer("write lease", 200, lease_json("n1", 8));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.renew_heartbeat());
  const json taken = written_lease(0);
  EXPECT_EQ(taken.at("spec").at("holderIdentity"), "n1");
  EXPECT_EQ(taken.at("spec").at("leaseTransitions"), 2);
  EXPECT_EQ(taken.at("spec").at("acquireTime"), taken.at("spec").at("renewTime"));
}

constexpr const char* kNode = R"({"metadata":{"name":"n1","uid":"u-1"}})";
constexpr const char* kNodeMadeAnew = R"({"metadata":{"name":"n1","uid":"u-2"}})";

json owned_by(const std::string& uid) {
  return {{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", "n1"}, {"uid", uid}}};
}

TEST_F(KubeNodeTest, TheNodeOwnsTheLeaseAlsoAnEarlierLeaseAndItsUidIsReadOnce) {
  answer("get lease", 200, lease_json("n1", 7));
  answer("get pod", 200, kNode);
  answer("write lease", 200, lease_json("n1", 8));
  answer("write lease", 200, lease_json("n1", 9));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.renew_heartbeat());
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_EQ(server.seen("get pod").size(), 1U);
  EXPECT_EQ(server.seen("get pod").at(0).target, "/api/v1/nodes/n1");
  EXPECT_EQ(written_lease(0).at("metadata").value("ownerReferences", json()), owned_by("u-1"));
  EXPECT_EQ(written_lease(1).at("metadata").value("ownerReferences", json()), owned_by("u-1"));
}

TEST_F(KubeNodeTest, ALeaseThatWasDeletedWithItsNodeIsCreatedForTheNodeThatIsNow) {
  answer("get lease", 404, kNoLease);
  answer("get pod", 200, kNode);
  answer("write lease", 201, lease_json("n1", 8));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.renew_heartbeat());
  answer("write lease", 404, kNoLease);
  answer("get lease", 404, kNoLease);
  answer("get pod", 200, kNodeMadeAnew);
  answer("write lease", 201, lease_json("n1", 12));
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_EQ(written_lease(2).at("metadata").value("ownerReferences", json()), owned_by("u-2"));
}

TEST_F(KubeNodeTest, AHeartbeatNeedsNeitherTheUidOfTheNodeNorTheRightToSetAnOwner) {
  answer("get lease", 404, kNoLease);
  answer("get pod", 503, "");
  answer("write lease", 201, lease_json("n1", 8));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_FALSE(written_lease(0).at("metadata").contains("ownerReferences"));
  answer("get pod", 200, kNode);
  answer("write lease", 403,
         R"({"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden",
             "message":"cannot set an ownerRef on a resource you can't delete"})");
  answer("get lease", 200, lease_json("n1", 8));
  answer("write lease", 200, lease_json("n1", 9));
  answer("write lease", 200, lease_json("n1", 10));
  ASSERT_TRUE(node.renew_heartbeat());
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_TRUE(written_lease(1).at("metadata").contains("ownerReferences"));
  EXPECT_FALSE(written_lease(2).at("metadata").contains("ownerReferences"));
  EXPECT_FALSE(written_lease(3).at("metadata").contains("ownerReferences"));
  EXPECT_EQ(server.seen("get pod").size(), 2U);
}

TEST_F(KubeNodeTest, AConflictIsResolvedWithinTheSameHeartbeat) {
  answer("get lease", 200, lease_json("n1", 7));
  answer("write lease", 409, kConflict);
  answer("get lease", 200, lease_json("n1", 9));
  answer("write lease", 200, lease_json("n1", 10));
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_EQ(written_lease(1).at("metadata").at("resourceVersion"), "9");
  // The Lease is deleted, and so is created again.
  answer("write lease", 404, kNoLease);
  answer("get lease", 404, kNoLease);
  answer("write lease", 201, lease_json("n1", 12));
  ASSERT_TRUE(node.renew_heartbeat());
  EXPECT_EQ(server.seen("write lease").at(3).target, kLeasesPath);
}

TEST_F(KubeNodeTest, EndlessConflictsEndTheHeartbeatWithAnError) {
  for (int i = 0; i < 3; ++i) {
    answer("get lease", 200, lease_json("n1", 7 + i));
    answer("write lease", 409, kConflict);
  }
  kube::KubeNode node(server.endpoint(), bench.options, bench.context(), "n1");
  const auto renewed = node.renew_heartbeat();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(server.seen("write lease").size(), 2U);
  answer("get lease", 503, "");
  EXPECT_FALSE(node.renew_heartbeat());
}

TEST_F(KubeNodeTest, AServerThatSaysNothingCostsNoMoreThanTheTimeout) {
  BadServer silent(BadServer::Manner::kSilent);
  // Enough to send a request on a busy machine: one that was not sent has another meaning.
  bench.options.api_timeout = std::chrono::seconds(2);
  kube::KubeNode node(silent.endpoint(), bench.options, bench.context(), "n1");
  EXPECT_EQ(node.read_marks().error().code, base::ErrorCode::kUnavailable);
  EXPECT_EQ(node.write_marks({}).error().code, base::ErrorCode::kUnknown);
  EXPECT_EQ(node.retry("ns", "a", "u-a", "1").error().code, base::ErrorCode::kUnknown);
  EXPECT_EQ(node.renew_heartbeat().error().code, base::ErrorCode::kUnavailable);
}

/// The calls of the watch, one line each.
class NodePodLines final : public agent_service::NodePodSink {
 public:
  void stream_alive() override {
    alive.change([](bool& is) { is = true; });
  }
  void stream_lost() override {
    alive.change([](bool& is) { is = false; });
  }
  void pods_listed(std::vector<agent::PodView> pods) override {
    std::string line = "listed";
    for (const agent::PodView& pod : pods) line += " " + pod.name;
    note(line);
  }
  void pod_changed(agent::PodView pod) override { note("changed " + pod.name); }
  void pod_gone(const agent::PodView& pod) override { note("gone " + pod.name); }

  Watched<std::vector<std::string>> lines;
  Watched<bool> alive;

 private:
  void note(const std::string& line) {
    lines.change([&](std::vector<std::string>& all) { all.push_back(line); });
  }
};

TEST_F(KubeNodeTest, ThePodsOfTheNodeAreListedAndWatchedByItsName) {
  answer("list pods", 200, list_json("PodList", {pod_json("a", 3), pod_json("b", 4)}, "5"));
  ScriptedReply events;
  events.pieces = {event_json("ADDED", pod_json("c", 6)) + event_json("MODIFIED", pod_json("a", 7)),
                   bookmark_json("8"), event_json("DELETED", pod_json("b", 9))};
  events.end = ScriptedReply::End::kHold;
  server.script("watch pods", events);
  NodePodLines sink;
  kube::KubeNodePods pods(server.endpoint(), bench.options, bench.context(), "n1");
  pods.start(sink);
  EXPECT_TRUE(sink.lines.wait([](const auto& all) { return all.size() >= 4; }));
  EXPECT_EQ(sink.lines.get(),
            (std::vector<std::string>{"listed a b", "changed c", "changed a", "gone b"}));
  EXPECT_TRUE(sink.alive.get());
  pods.stop();
  EXPECT_FALSE(sink.alive.get());
  const std::string target =
      "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1"
      "%2Cstatus.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
  EXPECT_EQ(server.seen("list pods")[0].target, target);
  EXPECT_THAT(
      server.seen("watch pods")[0].target,
      ::testing::StartsWith(target + "&watch=1&allowWatchBookmarks=true&resourceVersion=5"));
  EXPECT_EQ(server.seen("watch pods")[0].accept, "application/json");
}

TEST_F(KubeNodeTest, AListWithTooManyPodsIsNotApplied) {
  std::vector<std::string> many(static_cast<std::size_t>(base::agent_limits::max_node_pods) + 1,
                                pod_json("a", 3));
  answer("list pods", 200, list_json("PodList", many, "5"));
  NodePodLines sink;
  kube::KubeNodePods pods(server.endpoint(), bench.options, bench.context(), "n1");
  pods.start(sink);
  EXPECT_TRUE(sink.lines.wait([](const auto& all) { return !all.empty(); }));
  EXPECT_EQ(sink.lines.get()[0], "listed") << "the second list, which is empty";
  EXPECT_THAT(bench.log.text.get(), HasSubstr("the node has more than 4096 pods"));
}

}  // namespace
}  // namespace snug::kube_node_test
