#include "snug/service/explain_service.hpp"

#include <optional>
#include <string>

#include "fixture.hpp"

namespace snug::testing::explain_service_test {
namespace {

using nlohmann::json;

class ExplainServiceTest : public ServiceTest {
 protected:
  void SetUp() override {
    policy_yaml = "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: best-fit, weight: 1}]}}\n";
    start();
    make_service({});
  }
  void make_service(std::vector<std::string> schedulers) {
    scheduler_names = std::move(schedulers);
    explanations.emplace(
        service::ExplainParts{ledger, pending, readiness, *policy_store, placements, api},
        service_options());
  }
  json explain(const service::ExplainQuery& query, int status = 200) {
    const service::Reply reply = explanations->explain(query);
    EXPECT_EQ(reply.status, status) << reply.body;
    return json::parse(reply.body);
  }
  json explain_pod(const std::string& name) {
    return explain({.name_space = "default", .pod = name, .manifest = {}});
  }
  model::PodFacts place(const std::string& name, const std::string& share,
                        const std::string& node) {
    const model::PodFacts pod = arrive(name, {{"gpu-fraction", share}});
    EXPECT_EQ(filter(pod, names).at("NodeNames").at(0), node);
    EXPECT_EQ(bind(pod, node), "");
    return pod;
  }

  std::vector<std::string> names = {"n1", "n2"};
  std::optional<service::ExplainService> explanations;
};

constexpr const char* kManifest =
    R"({"metadata":{"namespace":"ml","name":"p","annotations":{"gpu-fraction":"0.5"}},)"
    R"("spec":{"containers":[{"name":"main"}]}})";

TEST_F(ExplainServiceTest, APendingPodIsToldWhatItLacks) {
  list({make_node("n1", 1, 40960)});
  place("a", "0.6", "n1");
  arrive("w", {{"gpu-fraction", "0.5"}});
  const json reply = explain_pod("w");
  EXPECT_EQ(reply.at("state"), "pending");
  EXPECT_EQ(reply.at("uid"), "uid-w");
  EXPECT_EQ(reply.at("feasible"), 0);
  EXPECT_EQ(reply.at("reasons").at(0).at("code"), "NoRoom");
  EXPECT_EQ(reply.at("nearest").at("node"), "n1");
  EXPECT_EQ(reply.at("blockers").at(0).at("pod"), "a");
  EXPECT_EQ(reply.at("advice").at(0).at("sentence"),
            "a smaller request: gpu-fraction=0.4 would fit now, on node n1");
}

TEST_F(ExplainServiceTest, OnlyTheOfferedNodesAreExplained) {
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960), make_node("n3", 1, 40960)});
  place("a", "0.6", "n1");
  const model::PodFacts pod = arrive("w", {{"gpu-fraction", "0.5"}});
  EXPECT_EQ(explain_pod("w").at("nodes"), 3) << "no scheduler has asked about it yet";
  EXPECT_THAT(explain_pod("w").at("notes").at(0).get<std::string>(),
              ::testing::StartsWith("kube-scheduler's own rules"));
  filter(pod, {"n1"});
  json reply = explain_pod("w");
  EXPECT_EQ(reply.at("nodes"), 1);
  EXPECT_EQ(reply.at("feasible"), 0);
  EXPECT_EQ(reply.at("nearest").at("node"), "n1");
  EXPECT_FALSE(reply.contains("placement") && !reply.at("placement").is_null());
  EXPECT_THAT(
      reply.at("notes").at(0).get<std::string>(),
      ::testing::StartsWith("at its last attempt kube-scheduler offered 1 of 3 nodes for the pod"));
  for (const json& advice : reply.at("advice")) {
    for (const char* other : {"n2", "n3"})
      EXPECT_EQ(advice.at("sentence").get<std::string>().find(std::string("on node ") + other),
                std::string::npos);
  }
  filter(pod, {"n1", "unknown"});
  EXPECT_THAT(
      explain_pod("w").at("notes").at(0).get<std::string>(),
      ::testing::HasSubstr("offered 1 of 3 nodes for the pod and 1 that Snug does not know"));
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  arrive("w", {{"gpu-fraction", "0.5"}});
  EXPECT_EQ(explain_pod("w").at("nodes"), 2) << "since then a node has been deleted";
}

TEST_F(ExplainServiceTest, WhereAllNodesAreOfferedThereIsNoNote) {
  list({make_node("n1", 1, 40960)});
  place("a", "0.6", "n1");
  const model::PodFacts pod = arrive("w", {{"gpu-fraction", "0.5"}});
  filter(pod, {"n1"});
  EXPECT_EQ(explain_pod("w").at("notes").size(), 0);
}

TEST_F(ExplainServiceTest, ARememberedPlacementNeedsNoCall) {
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}, {"gpu-fracton", "0.25"}});
  filter(pod, {"n1"});
  EXPECT_EQ(bind(pod, "n1"), "");
  const int gets = api.gets;
  EXPECT_THAT(explain_pod("a").at("notes").at(0).get<std::string>(),
              ::testing::HasSubstr("gpu-fracton"));
  EXPECT_EQ(api.gets, gets);
}

TEST_F(ExplainServiceTest, ABoundPodIsToldWhyItIsThere) {
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  place("a", "0.5", "n1");
  place("b", "0.5", "n1");
  const json reply = explain_pod("b");
  EXPECT_EQ(reply.at("state"), "bound");
  EXPECT_EQ(reply.at("node"), "n1");
  EXPECT_EQ(reply.at("placement").at("decided"), "at bind");
  EXPECT_EQ(reply.at("placement").at("terms").at(0).at("term"), "best-fit");
  EXPECT_EQ(reply.at("placement").at("runnerUp").at("node"), "n2");
  EXPECT_GT(reply.at("placement").at("total"), reply.at("placement").at("runnerUp").at("total"));
}

TEST_F(ExplainServiceTest, AfterARestartScoresAreThoseOfNow) {
  list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  const model::PodFacts pod = place("a", "0.5", "n1");
  service::PlacementLog forgotten;
  explanations.emplace(
      service::ExplainParts{ledger, pending, readiness, *policy_store, forgotten, api},
      service_options());
  api.pods["default/a"] = bound(pod, api.bindings.back());
  const json reply = explain_pod("a");
  EXPECT_EQ(reply.at("placement").at("decided"), "now");
  EXPECT_EQ(reply.at("placement").at("node"), "n1");
  EXPECT_EQ(reply.at("placement").at("runnerUp").at("node"), "n2");
}

TEST_F(ExplainServiceTest, AManifestNeedsNoPod) {
  list({make_node("n1", 1, 40960)});
  const json reply =
      explain({.name_space = {}, .pod = {}, .manifest = kManifest, .per_node = true});
  EXPECT_EQ(reply.at("state"), "hypothetical");
  EXPECT_FALSE(reply.contains("uid"));
  EXPECT_EQ(reply.at("feasible"), 1);
  EXPECT_EQ(reply.at("placement").at("node"), "n1");
  EXPECT_EQ(reply.at("placement").at("runnerUp"), nullptr);
  EXPECT_EQ(reply.at("perNode").at(0).at("sentence"), "the pod fits on node n1");
  EXPECT_EQ(pending.size(), 0);
}

TEST_F(ExplainServiceTest, MalformedRequestsAndOtherSchedulersAreRefusals) {
  list({make_node("n1", 1, 40960)});
  arrive("w", {{"gpu-fraction", "25%"}});
  EXPECT_EQ(explain_pod("w").at("refusal").at("code"), "Malformed");
  make_service({"other"});
  arrive("x", {{"gpu-fraction", "0.5"}});
  EXPECT_EQ(explain_pod("x").at("refusal").at("code"), "NotServed");
  const json hypothetical = explain({.name_space = {}, .pod = {}, .manifest = kManifest});
  EXPECT_EQ(hypothetical.at("feasible"), 1) << "admission would set the scheduler";
  EXPECT_EQ(hypothetical.at("notes").size(), 2);
}

TEST_F(ExplainServiceTest, WhatCannotBeExplainedIsSaid) {
  list({make_node("n1", 1, 40960)});
  EXPECT_NE(explain({.name_space = "a", .pod = "b", .manifest = {}}, 404)
                .at("Error")
                .get<std::string>()
                .find("pod a/b is neither pending nor holds a GPU"),
            std::string::npos);
  explain({.name_space = {}, .pod = {}, .manifest = {}}, 400);
  explain({.name_space = {}, .pod = "a", .manifest = kManifest}, 400);
  explain({.name_space = {}, .pod = {}, .manifest = "{"}, 400);
  explain({.name_space = {}, .pod = {}, .manifest = "{}"}, 400);
}

}  // namespace
}  // namespace snug::testing::explain_service_test
