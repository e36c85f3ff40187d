#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fixture.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::testing::admin_defrag_test {
namespace {

using nlohmann::json;

class AdminDefragTest : public ServiceTest {
 protected:
  void SetUp() override {
    policy_yaml = "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n";
    start();
    admin.emplace(service::AdminParts{ledger, pending, readiness, *policy_store, *monitor});
  }
  /// A share on each of two GPUs of n1, and of the one GPU of n2.
  void fill() {
    list({make_node("n1", 2, 40960), make_node("n2", 1, 40960)});
    for (const auto& [name, node, share] :
         std::vector<std::tuple<std::string, std::string, std::string>>{
             {"a", "n1", "0.5"}, {"b", "n1", "0.4"}, {"c", "n2", "0.9"}}) {
      const model::PodFacts pod = arrive(name, {{"gpu-fraction", share}});
      ASSERT_EQ(bind(pod, node), "");
      reconciler.pod_changed(bound(pod, api.bindings.back()));
    }
  }
  json defrag(const service::RepackQuery& query, int status = 200) {
    const service::Reply reply = admin->defrag(query);
    EXPECT_EQ(reply.status, status) << reply.body;
    return json::parse(reply.body);
  }
  static service::RepackQuery of_pod(const std::string& name) {
    return {.name_space = "default", .pod = name, .request = {}};
  }
  static service::RepackQuery stated(const model::StringMap& annotations) {
    return {.name_space = {}, .pod = {}, .request = annotations};
  }

  std::optional<service::AdminService> admin;
};

TEST_F(AdminDefragTest, APodThatWaitsIsToldWhoToMove) {
  fill();
  arrive("w", {{"gpu-fraction", "1"}});
  const json advice = defrag(of_pod("w"));
  const json device{{"index", 1},
                    {"uuid", "GPU-n1-1"},
                    {"mode", "time-slicing"},
                    {"memoryMiB", 16384},
                    {"computeMilli", 400}};
  json moved = device;
  moved["index"] = 0;
  moved["uuid"] = "GPU-n1-0";
  EXPECT_EQ(advice.at("request"), "gpu-fraction=1");
  EXPECT_EQ(advice.at("fits"), false);
  EXPECT_EQ(advice.at("node"), "n1");
  EXPECT_EQ(advice.at("moves"),
            json::array({{{"namespace", "default"},
                          {"pod", "b"},
                          {"uid", "uid-b"},
                          {"from", {{"node", "n1"}, {"devices", json::array({device})}}},
                          {"to", {{"node", "n1"}, {"devices", json::array({moved})}}}}}));
  EXPECT_EQ(advice.at("reservation").at("uid"), "uid-w");
  EXPECT_EQ(advice.at("reservation").at("containers").at(0).at("devices").at(0).at("index"), 1);
  EXPECT_FALSE(advice.contains("because"));
}

TEST_F(AdminDefragTest, ARequestCanBeStated) {
  fill();
  const json fits = defrag(stated({{"gpu-fraction", "0.5"}}));
  EXPECT_EQ(fits.at("fits"), true);
  EXPECT_EQ(fits.at("node"), "n1");
  EXPECT_EQ(fits.at("moves"), json::array());
  EXPECT_EQ(fits.at("reservation").at("uid"), "stated");
  const json helps = defrag(stated({{"gpu-memory", "40960"}, {"gpu-model", "*A100*"}}));
  EXPECT_EQ(helps.at("request"), "gpu-memory=40960;gpu-model=*A100*");
  EXPECT_EQ(helps.at("moves").at(0).at("pod"), "b");
  const json nothing = defrag(stated({{"gpu-fraction", "3"}}));
  EXPECT_EQ(nothing.at("fits"), false);
  EXPECT_EQ(nothing.at("moves"), json::array());
  EXPECT_FALSE(nothing.contains("node"));
  EXPECT_NE(nothing.at("because").get<std::string>().find("TooLarge"), std::string::npos);
}

TEST_F(AdminDefragTest, ThosePodsWhoseBindIsUnderWayStay) {
  fill();
  const model::PodFacts pod = arrive("d", {{"gpu-fraction", "0.1"}});
  reconciler.pod_gone(make_pod("b", {}));
  api.on_bind = [&](const model::Binding&) {
    EXPECT_EQ(defrag(stated({{"gpu-fraction", "2"}})).at("moves"), json::array());
  };
  ASSERT_EQ(bind(pod, "n1"), "");
}

TEST_F(AdminDefragTest, ALeaderAdvisesWhileTheLeaseCannotBeRenewed) {
  fill();
  readiness.set_lease_problem("the API server answered 500");
  ASSERT_TRUE(readiness.is_ready());
  EXPECT_EQ(defrag(stated({{"gpu-fraction", "0.5"}})).at("fits"), true);
}

TEST_F(AdminDefragTest, AStandbyAdvisesUnlessTheLeaseIsOutOfReach) {
  fill();
  readiness.stand_by("other", "");
  EXPECT_EQ(defrag(stated({{"gpu-fraction", "0.5"}})).at("fits"), true);
  readiness.set_lease_problem("the API server answered 500");
  EXPECT_EQ(defrag(stated({{"gpu-fraction", "0.5"}}), 503).at("Error"),
            "Snug is not ready: this Snug is a standby, and the leader is other; the Lease: the "
            "API server answered 500");
}

TEST_F(AdminDefragTest, BadQuestionsGetASentence) {
  EXPECT_EQ(
      defrag(of_pod("w"), 503).at("Error"),
      "Snug is not ready: the first list of nodes has not been received yet; the first list of "
      "pods has not been received yet");
  fill();
  EXPECT_EQ(defrag(of_pod("w"), 404).at("Error"), "no pod default/w is pending");
  EXPECT_EQ(defrag(of_pod("a"), 404).at("Error"), "no pod default/a is pending");
  arrive("plain", {});
  EXPECT_EQ(defrag(of_pod("plain"), 400).at("Error"), "the pod asks for no GPU");
  EXPECT_EQ(defrag({}, 400).at("Error"),
            "the query has neither a pod nor a request; expected pod and namespace, or the keys "
            "of annotations: gpu-fraction, gpu-memory…");
  EXPECT_EQ(defrag(of_pod(""), 400).at("Error"), "the query's pod is empty; expected a name");
  service::RepackQuery nowhere = stated({{"gpu-fraction", "1"}});
  nowhere.name_space = "";
  EXPECT_EQ(defrag(nowhere, 400).at("Error"), "the query's namespace is empty; expected a name");
  service::RepackQuery both = of_pod("w");
  both.request["gpu-fraction"] = "1";
  EXPECT_EQ(defrag(both, 400).at("Error"),
            "the query has both a pod and a request; expected one of the two");
  EXPECT_EQ(defrag(stated({{"gpu-fraction", "1.5"}}), 400)
                .at("Error")
                .get<std::string>()
                .find("Malformed: gpu-fraction is \"1.5\""),
            0U);
}

}  // namespace
}  // namespace snug::testing::admin_defrag_test
