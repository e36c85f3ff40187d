// What KubeApi sends to mirror GPU shares: the capacity of nodes, and the parameters of the
// admission policy.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "integration/kube_support.hpp"
#include "snug/adapters/kube/kube_api.hpp"

namespace snug::kube_mirror_test {
namespace {

using namespace snug::testing;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

class KubeMirrorTest : public ::testing::Test {
 protected:
  Bench bench;
  ScriptedApi server;
};

TEST_F(KubeMirrorTest, TheCapacityOfANodeIsAMergePatchOfItsStatus) {
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.set_mirrored_capacity("n1", model::MirroredAmounts{{4000}, {163840}}));
  ASSERT_TRUE(api.set_mirrored_capacity("n1", std::nullopt));
  const auto seen = server.seen("patch");
  ASSERT_EQ(seen.size(), 2U);
  for (const SeenRequest& request : seen) {
    EXPECT_EQ(request.target, "/api/v1/nodes/n1/status");
    EXPECT_EQ(request.content_type, "application/merge-patch+json");
  }
  const json amounts{{"snug.dev/gpu-milli", "4000"}, {"snug.dev/gpu-memory-mib", "163840"}};
  EXPECT_EQ(json::parse(seen[0].body),
            (json{{"status", {{"capacity", amounts}, {"allocatable", amounts}}}}));
  const json removed{{"snug.dev/gpu-milli", nullptr}, {"snug.dev/gpu-memory-mib", nullptr}};
  EXPECT_EQ(json::parse(seen[1].body),
            (json{{"status", {{"capacity", removed}, {"allocatable", removed}}}}));
}

TEST_F(KubeMirrorTest, AnAnswerToAPatchOfACapacitySaysWhetherItWasExecuted) {
  const std::vector<std::pair<int, base::ErrorCode>> rows = {{404, base::ErrorCode::kNotFound},
                                                             {403, base::ErrorCode::kInvalid},
                                                             {409, base::ErrorCode::kConflict},
                                                             {429, base::ErrorCode::kUnavailable},
                                                             {500, base::ErrorCode::kUnknown}};
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  for (const auto& [status, code] : rows) {
    ScriptedReply reply;
    reply.status = status;
    reply.body =
        R"({"kind":"Status","apiVersion":"v1","reason":"NotFound","message":"no","code":)" +
        std::to_string(status) + "}";
    server.script("patch", reply);
    const auto written = api.set_mirrored_capacity("n1", std::nullopt);
    ASSERT_FALSE(written) << status;
    EXPECT_EQ(written.error().code, code) << status;
    EXPECT_EQ(written.error().message, "the API server answered " + std::to_string(status) +
                                           " to the patch of the node's capacity: no");
  }
  EXPECT_FALSE(api.set_mirrored_capacity("../n1", std::nullopt));
}

TEST_F(KubeMirrorTest, TheMirrorParametersAreAppliedAndDeleted) {
  const std::string path = "/apis/snug.dev/v1/mirrorparameters/snug";
  kube::KubeApi api(server.endpoint(), bench.options, bench.context());
  ASSERT_TRUE(api.write_mirror_parameters(admission::CardRange{{16384}, {81920}}));
  const auto applied = server.seen("PATCH parameters");
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].target, path + "?fieldManager=snug-extender&force=true");
  EXPECT_EQ(applied[0].content_type, "application/apply-patch+yaml");
  EXPECT_EQ(json::parse(applied[0].body),
            (json{{"apiVersion", "snug.dev/v1"},
                  {"kind", "MirrorParameters"},
                  {"metadata", {{"name", "snug"}}},
                  {"spec", {{"smallestMib", 16384}, {"largestMib", 81920}}}}));
  ASSERT_TRUE(api.write_mirror_parameters(std::nullopt));
  ScriptedReply gone;
  gone.status = 404;
  gone.body = "404 page not found\n";  // what the API server says of a kind that it does not know
  server.script("DELETE parameters", gone);
  EXPECT_TRUE(api.write_mirror_parameters(std::nullopt)) << "they do not exist";
  gone.status = 403;
  server.script("DELETE parameters", gone);
  EXPECT_FALSE(api.write_mirror_parameters(std::nullopt));
  gone.status = 404;
  server.script("PATCH parameters", gone);
  EXPECT_EQ(api.write_mirror_parameters(admission::CardRange{{1}, {2}}).error().code,
            base::ErrorCode::kNotFound);
  const auto deleted = server.seen("DELETE parameters");
  ASSERT_EQ(deleted.size(), 3U);
  EXPECT_EQ(deleted[0].target, path);
}

}  // namespace
}  // namespace snug::kube_mirror_test
