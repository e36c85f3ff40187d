#include <nlohmann/json.hpp>

#include "unit/service/fixture.hpp"

namespace snug::testing::preempt_test {
namespace {

using nlohmann::json;

class PreemptTest : public ServiceTest {
 protected:
  /// A pod of this priority that is bound and shown by the watch.
  void run_pod(const std::string& name, int priority, const model::StringMap& annotations,
               const std::string& node) {
    model::PodFacts pod = arrive(name, annotations);
    ASSERT_EQ(bind(pod, node), "");
    pod.priority = priority;
    reconciler.pod_changed(bound(pod, api.bindings.back()));
  }
  static json with_priority(const model::PodFacts& pod, int priority) {
    json object = pod_json(pod);
    object["spec"]["priority"] = priority;
    return object;
  }
  static json uids(const std::vector<std::string>& names) {
    json pods = json::array();
    for (const std::string& name : names) pods.push_back({{"UID", "uid-" + name}});
    return pods;
  }
  /// The call in the form of a scheduler with nodeCacheCapable.
  static json call(const json& pod, const json& offers) {
    return {{"Pod", pod}, {"NodeNameToVictims", nullptr}, {"NodeNameToMetaVictims", offers}};
  }
  json preempt(const json& args, int status = 200) {
    std::string body = args.is_string() ? args.get<std::string>() : args.dump();
    const service::Reply reply = service->preempt(body);
    EXPECT_EQ(reply.status, status) << reply.body;
    const json answer = json::parse(reply.body);
    EXPECT_EQ(answer.size(), 1U) << reply.body;
    return answer.at(status == 200 ? "NodeNameToMetaVictims" : "Error");
  }

  const json nobody = json::object();
};

TEST_F(PreemptTest, FillsWhatTheSchedulerLeftEmptyAndLeavesOutWhereNothingHelps) {
  start();
  list({make_node("n1", 1, 1000), make_node("n2", 1, 1000), make_node("n3", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  run_pod("b", 9, {{"gpu-fraction", "0.7"}}, "n2");
  const json pod = with_priority(arrive("c", {{"gpu-fraction", "0.5"}}), 5);
  const json empty{{"Pods", nullptr}, {"NumPDBViolations", 0}};
  const json reply =
      preempt(call(pod, {{"n1", empty}, {"n2", empty}, {"n3", empty}, {"n4", empty}}));
  EXPECT_EQ(reply, json({{"n1", {{"Pods", uids({"a"})}, {"NumPDBViolations", 0}}}}));
}

TEST_F(PreemptTest, AddsWhoeverHoldsTheGpuInBothForms) {
  start();
  list({make_node("n1", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  run_pod("b", 0, {}, "n1");
  const json pod = with_priority(arrive("c", {{"gpu-fraction", "0.5"}}), 5);
  const json wanted{{"n1", {{"Pods", uids({"a", "b"})}, {"NumPDBViolations", 1}}}};
  EXPECT_EQ(preempt(call(pod, {{"n1", {{"Pods", uids({"b"})}, {"NumPDBViolations", 1}}}})), wanted);
  const json whole{{"metadata", {{"name", "b"}, {"uid", "uid-b"}}}, {"spec", json::object()}};
  EXPECT_EQ(
      preempt({{"pod", pod},
               {"nodenametovictims", {{"n1", {{"pods", {whole}}, {"numpdbviolations", 1}}}}}}),
      wanted);
}

TEST_F(PreemptTest, WhatIsNoConcernOfEvictionEvictsNobody) {
  scheduler_names = {"snug", ""};
  start();
  list({make_node("n1", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  const json offers{{"n1", {{"Pods", uids({"a"})}, {"NumPDBViolations", 0}}}};
  const auto answer = [&](const model::StringMap& annotations,
                          const std::string& scheduler = "snug") {
    json pod = with_priority(make_pod("c", annotations), 5);
    pod["spec"]["schedulerName"] = scheduler;
    return preempt(call(pod, offers));
  };
  EXPECT_EQ(answer({{"gpu-fraction", "0.5"}}), offers);
  EXPECT_EQ(answer({{"gpu-fraction", "0.5x"}}), nobody) << "malformed";
  EXPECT_EQ(answer({{"gpu-fraction", "0.5"}, {"gpu-policy", "secret"}}), nobody) << "forbidden";
  EXPECT_EQ(answer({{"gpu-fraction", "0.5"}}, "other"), nobody) << "not served";
  EXPECT_EQ(answer({{"gpu-memory", "4Gi"}}), nobody) << "too large";
  const json others{{"n1", {{"Pods", uids({"b"})}, {"NumPDBViolations", 0}}}};
  EXPECT_EQ(preempt(call(with_priority(make_pod("a", {{"gpu-fraction", "0.7"}}), 5), others)),
            nobody)
      << "it holds a GPU already";
}

TEST_F(PreemptTest, APodWithoutGpuGetsItsVictimsBack) {
  start();
  list({make_node("n1", 1, 1000)});
  const json offers{{"n1", {{"Pods", uids({"x", "y"})}, {"NumPDBViolations", 2}}},
                    {"unknown", {{"Pods", uids({"z"})}, {"NumPDBViolations", 0}}},
                    {"empty", {{"Pods", json::array()}, {"NumPDBViolations", 0}}}};
  json wanted = offers;
  wanted.erase("empty");
  EXPECT_EQ(preempt(call(with_priority(make_pod("c", {}), 5), offers)), wanted);
}

TEST_F(PreemptTest, APodWhoseBindIsInDoubtIsSpared) {
  start();
  list({make_node("n1", 1, 1000)});
  api.bind_answers.push_back(base::fail(base::ErrorCode::kUnknown, "lost"));
  ASSERT_NE(bind(arrive("a", {{"gpu-fraction", "0.7"}}), "n1"), "");
  const json pod = with_priority(arrive("c", {{"gpu-fraction", "0.5"}}), 5);
  const json empty{{"Pods", json::array()}, {"NumPDBViolations", 0}};
  EXPECT_EQ(preempt(call(pod, {{"n1", empty}})), nobody);
}

TEST_F(PreemptTest, AnswersChangeNothing) {
  start();
  list({make_node("n1", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  const json pod = with_priority(arrive("c", {{"gpu-fraction", "0.5"}}), 5);
  const json offers{{"n1", {{"Pods", uids({"a"})}, {"NumPDBViolations", 0}}}};
  const base::Generation before = ledger.snapshot()->generation;
  EXPECT_EQ(preempt(call(pod, offers)), preempt(call(pod, offers)));
  EXPECT_EQ(ledger.snapshot()->generation, before);
  EXPECT_EQ(api.bindings.size(), 1U);
  EXPECT_EQ(used("n1", 0), 700);
}

TEST_F(PreemptTest, WhileItsVictimsEndOnItsNodeAPodGetsNoOthers) {
  start();
  list({make_node("n1", 1, 1000), make_node("n2", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  run_pod("b", 1, {{"gpu-fraction", "0.7"}}, "n2");
  json pod = with_priority(arrive("c", {{"gpu-fraction", "0.5"}}), 5);
  const json of_a{{"Pods", uids({"a"})}, {"NumPDBViolations", 0}};
  const json of_b{{"Pods", uids({"b"})}, {"NumPDBViolations", 0}};
  const json empty{{"Pods", nullptr}, {"NumPDBViolations", 0}};
  const json both{{"n1", of_a}, {"n2", of_b}};
  const json other{{"n2", of_b}};
  EXPECT_EQ(preempt(call(pod, both)), both);
  EXPECT_EQ(preempt(call(pod, both)), both) << "not nominated";

  pod["status"]["nominatedNodeName"] = "n1";
  EXPECT_EQ(preempt(call(pod, other)), nobody) << "a is being evicted, and is enough";
  EXPECT_EQ(preempt(call(pod, {{"n1", empty}, {"n2", empty}})), nobody) << "from 1.38";
  EXPECT_EQ(preempt(call(pod, both)), both) << "the scheduler still finds a there";
  json later = with_priority(arrive("d", {{"gpu-fraction", "0.5"}}), 5);
  later["status"]["nominatedNodeName"] = "n1";
  EXPECT_EQ(preempt(call(later, other)), other) << "nobody was named for this pod";

  reconciler.pod_gone(make_pod("a", {}));
  EXPECT_EQ(preempt(call(pod, other)), nobody) << "gone since filter refused the pod";
  run_pod("e", 5, {{"gpu-fraction", "0.7"}}, "n1");
  EXPECT_EQ(preempt(call(pod, other)), other) << "the end of a no longer suffices";
}

TEST_F(PreemptTest, APodThatIsTriedBetweenTwoEvictionsGetsTheSameVictims) {
  start();
  list({make_node("n1", 2, 1000)});
  for (const char* name : {"a", "b", "c", "d"}) run_pod(name, 1, {{"gpu-fraction", "0.5"}}, "n1");
  const auto victims = [](const std::vector<std::string>& names) {
    return json{{"n1", {{"Pods", uids(names)}, {"NumPDBViolations", 0}}}};
  };
  const auto ask_for = [&](const std::string& name, const std::vector<std::string>& proposed) {
    const model::PodFacts pod = make_pod(name, {{"gpu-fraction", "0.5"}, {"gpu-count", "2"}});
    return preempt(call(with_priority(pod, 5), victims(proposed)));
  };
  EXPECT_EQ(ask_for("p", {"a", "c"}), victims({"a", "c"}));
  EXPECT_EQ(ask_for("p", {"b", "d"}), victims({"a", "c"})) << "none is gone yet";
  reconciler.pod_gone(make_pod("a", {}));
  EXPECT_EQ(ask_for("q", {"d"}), victims({"d"})) << "nothing was named for this pod";
  EXPECT_EQ(ask_for("p", {"d"}), victims({"c"}));
  EXPECT_EQ(ask_for("p", {"b", "d"}), victims({"c"}));

  run_pod("e", 1, {{"gpu-fraction", "0.5"}}, "n1");
  EXPECT_EQ(ask_for("p", {"b", "d"}), victims({"b", "d"})) << "the end of c no longer suffices";
}

TEST_F(PreemptTest, TheCpuOfANominatedPodExplainsTheChoiceOfTheScheduler) {
  start();
  model::NodeFacts node = make_node("n1", 1, 1000);
  node.host = {
      .resources = {.cpu_milli = 12'000, .memory_bytes = 1000}, .pod_slots = 10, .known = true};
  list({node});
  const auto with_cpu = [](const std::string& name, const model::StringMap& annotations) {
    model::PodFacts pod = make_pod(name, annotations);
    pod.containers.front().host.cpu_milli = 4000;
    return pod;
  };
  for (const char* name : {"a", "b", "x"}) {
    model::PodFacts pod = with_cpu(name, {});
    pod.node_name = "n1";
    pod.terminating = pod.name == "x";
    reconciler.pod_changed(pod);
  }
  model::PodFacts first = with_cpu("first", {{"gpu-fraction", "0.1"}});
  first.priority = 7;
  first.nominated_node_name = "n1";
  reconciler.pod_changed(first);
  json pod = with_priority(make_pod("c", {{"gpu-fraction", "0.5"}}), 5);
  pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "4";
  const auto victims = [&](const std::vector<std::string>& names) {
    return json{{"n1", {{"Pods", uids(names)}, {"NumPDBViolations", 0}}}};
  };
  // x is ending, so that one more is enough, but kube-scheduler counts it.
  EXPECT_EQ(preempt(call(pod, victims({"a", "b"}))), victims({"b", "x"}));
}

TEST_F(PreemptTest, NamedVictimsAreForgottenInTime) {
  limits.max_named_victims = 1;
  start();
  list({make_node("n1", 1, 1000), make_node("n2", 1, 1000)});
  run_pod("a", 1, {{"gpu-fraction", "0.7"}}, "n1");
  run_pod("b", 1, {{"gpu-fraction", "0.7"}}, "n2");
  const json there{{"n1", {{"Pods", uids({"a"})}, {"NumPDBViolations", 0}}}};
  const json other{{"n2", {{"Pods", uids({"b"})}, {"NumPDBViolations", 0}}}};
  std::vector<json> pods;
  for (const char* name : {"c", "d"}) {
    pods.push_back(with_priority(arrive(name, {{"gpu-fraction", "0.5"}}), 5));
    pods.back()["status"]["nominatedNodeName"] = "n1";
    EXPECT_EQ(preempt(call(pods.back(), there)), there);
  }
  EXPECT_EQ(preempt(call(pods[1], other)), nobody);
  clock.advance(std::chrono::milliseconds(limits.named_victims_ms));
  EXPECT_EQ(preempt(call(pods[1], other)), other) << "too long ago";

  EXPECT_EQ(preempt(call(pods[0], there)), there);
  EXPECT_EQ(preempt(call(pods[0], other)), nobody);
  EXPECT_EQ(preempt(call(pods[1], there)), there);
  EXPECT_EQ(preempt(call(pods[0], other)), other) << "displaced by a later pod";
}

TEST_F(PreemptTest, BadBodiesAreRefusedWithASentence) {
  limits.max_names_per_call = 2;
  limits.max_victims_per_call = 2;
  start();
  list({});
  const json pod = pod_json(make_pod("c", {}));
  const json none = json::object();
  struct Row {
    json body;
    int status;
    std::string says;
  };
  const json one{{"Pods", uids({"a"})}};
  const json two{{"Pods", uids({"a", "b"})}};
  for (const Row& row : std::vector<Row>{
           {"{", 400, "not valid JSON"},
           {call(nullptr, none), 400, "Pod is missing or null"},
           {{{"Pod", pod}}, 400, "neither of NodeNameToVictims and NodeNameToMetaVictims"},
           {{{"Pod", pod}, {"NodeNameToVictims", none}, {"NodeNameToMetaVictims", none}},
            400,
            "both of"},
           {call(pod, {1}), 400, "NodeNameToMetaVictims must be an object"},
           {call(pod, {{"", one}}), 400, "empty key"},
           {call(pod, {{"n1", 1}}), 400, "NodeNameToMetaVictims.n1 must be an object"},
           {call(pod, {{"n1", {{"Pods", 1}}}}), 400, "n1.Pods must be an array"},
           {call(pod, {{"n1", {{"Pods", {{{"UID", ""}}}}}}}), 400, "Pods[0].UID must be a string"},
           {call(pod, {{"n1", {{"Pods", uids({"a", "a"})}}}}), 400, "n1 has a pod twice"},
           {call(pod, {{"n1", {{"NumPDBViolations", 0.5}}}}), 400, "must be an integer"},
           {call(pod, {{"n1", {{"NumPDBViolations", -1}}}}), 400,
            "NodeNameToMetaVictims.n1.NumPDBViolations must be an integer of 64 bits, and not "
            "negative"},
           {call(pod, {{"n1", {{"Pods", uids({"a", "c"})}}}}), 400,
            "NodeNameToMetaVictims.n1.Pods[1] is the pod to be scheduled; it cannot be evicted for "
            "itself"},
           {R"({"Pod":)" + pod.dump() + R"(,"NodeNameToVictims":{"n1":{"Pods":[)" + pod.dump() +
                "]}}}",
            400, "NodeNameToVictims.n1.Pods[0] is the pod to be scheduled"},
           {R"({"Pod":)" + pod.dump() + R"(,"NodeNameToMetaVictims":{"n1":{},"n1":{}}})", 400,
            "has node n1 twice"},
           {R"({"Pod":)" + pod.dump() + R"(,"NodeNameToVictims":{"n1":{"Pods":[{}]}}})", 400,
            "n1.Pods[0].metadata is missing"},
           {call(pod, {{"n1", two}, {"n2", one}}), 413, "too many victims; at most 2"},
           {call(pod, {{"n1", none}, {"n2", none}, {"n3", none}}), 413, "too many nodes"}}) {
    const std::string said = preempt(row.body, row.status).get<std::string>();
    EXPECT_NE(said.find(row.says), std::string::npos) << said;
  }
}

TEST_F(PreemptTest, NobodyIsEvictedBeforeTheLedgerIsRebuilt) {
  start();
  EXPECT_EQ(
      preempt(call(pod_json(make_pod("c", {})), json::object()), 503),
      "Snug is not ready: the first list of nodes has not been received yet; the first list of "
      "pods has not been received yet");
}

}  // namespace
}  // namespace snug::testing::preempt_test
