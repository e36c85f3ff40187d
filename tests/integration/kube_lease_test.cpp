#include "snug/adapters/kube/kube_lease.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "integration/kube_support.hpp"

namespace snug::kube_lease_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr const char* kHeld =
    R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"snug-extender",
        "namespace":"snug","resourceVersion":"7","labels":{"team":"gpu"}},
        "spec":{"holderIdentity":"a_1","leaseDurationSeconds":15,"leaseTransitions":2,
        "acquireTime":"2026-01-01T00:00:00.000000Z","renewTime":"2026-01-01T00:00:05.000000Z"}})";

class VersionSink final : public service::LeaseSink {
 public:
  void lease_changed(std::string_view resource_version) override {
    versions.change([&](std::vector<std::string>& all) {
      all.emplace_back(resource_version.empty() ? "none" : resource_version);
    });
  }
  Watched<std::vector<std::string>> versions;
};

class KubeLeaseTest : public ::testing::Test {
 protected:
  void answer(const std::string& kind, int status, const std::string& body) {
    ScriptedReply reply;
    reply.status = status;
    reply.body = body;
    server.script(kind, reply);
  }

  Bench bench;
  VersionSink sink;
  ScriptedApi server;
};

TEST_F(KubeLeaseTest, ALeaseIsReadWithWhatItSays) {
  answer("get lease", 200, kHeld);
  kube::KubeLease port(server.endpoint(), bench.options, bench.context(),
                       {"snug", "snug-extender"});
  const auto read = port.read();
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->record, (leader::LeaseRecord{"a_1", 15, "2026-01-01T00:00:00.000000Z",
                                                  "2026-01-01T00:00:05.000000Z", 2}));
  EXPECT_EQ((*read)->resource_version, "7");
  EXPECT_EQ(server.seen("get lease")[0].target,
            "/apis/coordination.k8s.io/v1/namespaces/snug/leases/snug-extender");
}

TEST_F(KubeLeaseTest, OnlyTheApiServersWordMeansThatThereIsNone) {
  struct Row {
    int status;
    std::string body;
    bool absent;
  };
  const std::string not_found =
      R"({"kind":"Status","apiVersion":"v1","code":404,"reason":"NotFound","details":)";
  const Row rows[] = {
      {404,
       not_found + R"({"name":"snug-extender","group":"coordination.k8s.io","kind":"leases"}})",
       true},
      {404, not_found + R"({"name":"other","kind":"leases"}})", false},
      {404, not_found + "{}}", false},
      {404, R"({"kind":"Status","reason":"NotFound"})", false},
      {404, R"({"message":"no such page"})", false},
      {404, "<html>404</html>", false},
      {403, R"({"kind":"Status","reason":"Forbidden","message":"no"})", false},
      {503, "", false},
  };
  kube::KubeLease port(server.endpoint(), bench.options, bench.context(),
                       {"snug", "snug-extender"});
  for (const Row& row : rows) {
    answer("get lease", row.status, row.body);
    const auto read = port.read();
    EXPECT_EQ(read.has_value(), row.absent) << row.body;
    if (read) continue;
    EXPECT_THAT(read.error().message, HasSubstr("snug/snug-extender"));
  }
}

TEST_F(KubeLeaseTest, AWriteKeepsWhatElseTheLeaseSays) {
  answer("get lease", 200, kHeld);
  answer("write lease", 200, kHeld);
  kube::KubeLease port(server.endpoint(), bench.options, bench.context(),
                       {"snug", "snug-extender"});
  const auto read = port.read();
  ASSERT_TRUE(read && *read);
  leader::LeaseRecord record = (*read)->record;
  record.renew_time.clear();
  ASSERT_TRUE(port.write(record, &**read));
  const json body = json::parse(server.seen("write lease").at(0).body);
  EXPECT_EQ(body.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(body.at("metadata").at("labels").at("team"), "gpu");
  EXPECT_EQ(body.at("spec").at("holderIdentity"), "a_1");
  EXPECT_EQ(body.at("spec").at("leaseDurationSeconds"), 15);
  EXPECT_EQ(body.at("spec").at("leaseTransitions"), 2);
  EXPECT_EQ(body.at("spec").at("acquireTime"), "2026-01-01T00:00:00.000000Z");
  EXPECT_THAT(body.at("spec").at("renewTime").get<std::string>(),
              MatchesRegex("20[0-9-]+T[0-9:]+\\.[0-9][0-9][0-9][0-9][0-9][0-9]Z"));
}

TEST_F(KubeLeaseTest, EachAnswerToAWriteHasItsMeaning) {
  struct Row {
    int status;
    base::ErrorCode code;
  };
  const Row rows[] = {{409, base::ErrorCode::kConflict},
                      {404, base::ErrorCode::kNotFound},
                      {403, base::ErrorCode::kUnavailable},
                      {504, base::ErrorCode::kUnknown}};
  kube::KubeLease port(server.endpoint(), bench.options, bench.context(),
                       {"snug", "snug-extender"});
  for (const Row& row : rows) {
    answer("write lease", row.status, R"({"kind":"Status","message":"no"})");
    const auto written = port.write({.holder = "a_1", .duration_s = 15}, nullptr);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, row.code) << row.status;
  }
}

TEST_F(KubeLeaseTest, TheWatchShowsEachHolder) {
  answer("list leases", 200, list_json("LeaseList", {kHeld}, "9"));
  ScriptedReply events;
  std::string released = kHeld;
  released.replace(released.find("a_1"), 3, "");
  released.replace(released.find("\"7\""), 3, "\"8\"");
  events.pieces = {R"({"type":"MODIFIED","object":)" + released + "}\n",
                   R"({"type":"DELETED","object":)" + released + "}\n"};
  for (std::string& piece : events.pieces) {
    piece.erase(std::remove(piece.begin(), piece.end() - 1, '\n'), piece.end() - 1);
  }
  events.end = ScriptedReply::End::kHold;
  server.script("watch leases", events);
  kube::KubeLease port(server.endpoint(), bench.options, bench.context(),
                       {"snug", "snug-extender"});
  port.start_watch(sink);
  EXPECT_TRUE(sink.versions.wait([](const auto& all) { return all.size() >= 3; }));
  EXPECT_EQ(sink.versions.get(), (std::vector<std::string>{"7", "8", "none"}));
  EXPECT_THAT(server.seen("watch leases")[0].target,
              HasSubstr("/leases?fieldSelector=metadata.name%3Dsnug-extender&watch=1"));
  port.stop_watch();
}

}  // namespace
}  // namespace snug::kube_lease_test
