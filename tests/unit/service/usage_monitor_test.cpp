#include "snug/service/usage_monitor.hpp"

#include <string>
#include <vector>

#include "fixture.hpp"
#include "snug/service/admin_service.hpp"

namespace snug::testing::usage_monitor_test {
namespace {

using nlohmann::json;

class UsageMonitorTest : public ServiceTest {
 protected:
  void SetUp() override {
    limits.history_points = 3;
    policy_yaml =
        "version: 1\ndefault: a\nprofiles: {a: {terms: [{term: spread, weight: 1}]}}\n"
        "sharing: [{namespaces: [def*], capMilli: 1500}]\n";
    start();
    admin.emplace(service::AdminParts{ledger, pending, readiness, *policy_store, *monitor});
  }
  void place(const std::string& name, const std::string& share) {
    const model::PodFacts pod = arrive(name, {{"gpu-fraction", share}});
    ASSERT_EQ(bind(pod, "n1"), "");
    reconciler.pod_changed(bound(pod, api.bindings.back()));
  }
  json get(service::Reply (service::AdminService::*question)()) {
    const service::Reply reply = ((*admin).*question)();
    EXPECT_EQ(reply.status, 200) << reply.body;
    return json::parse(reply.body);
  }

  std::optional<service::AdminService> admin;
};

TEST_F(UsageMonitorTest, TheClusterIsShownAsItIs) {
  list({make_node("n1", 2, 40960)});
  place("a", "0.5");
  place("b", "0.25");
  filter(arrive("big", {{"gpu-fraction", "2"}}), {"n1"});
  filter(arrive("too-big", {{"gpu-fraction", "3"}}), {"n1"});
  arrive("typo", {{"gpu-fraction", "25%"}});
  arrive("new", {{"gpu-fraction", "0.1"}});
  arrive("no-gpu", {});
  model::PodFacts gated = make_pod("gated", {{"gpu-fraction", "0.1"}});
  gated.gated = true;
  reconciler.pod_changed(gated);
  const json cluster = get(&service::AdminService::cluster);
  EXPECT_EQ(cluster.at("generation"), ledger.snapshot()->generation.value);
  EXPECT_EQ(cluster.at("nodes"), 1);
  EXPECT_EQ(cluster.at("gpus"), 2);
  EXPECT_EQ(cluster.at("gpusClosed"), 0);
  EXPECT_EQ(cluster.at("memoryMiB"), 81920);
  EXPECT_EQ(cluster.at("usedMemoryMiB"), 30720);
  EXPECT_EQ(cluster.at("computeMilli"), 2000);
  EXPECT_EQ(cluster.at("usedComputeMilli"), 750);
  EXPECT_EQ(cluster.at("freeWholeGpus"), 0);
  EXPECT_EQ(cluster.at("largestFreeShare"),
            (json{{"computeMilli", 750}, {"memoryMiB", 30720}, {"node", "n1"}, {"gpu", 1}}));
  EXPECT_EQ(cluster.at("freeMilli"), 1250);
  EXPECT_EQ(cluster.at("models"), json::array({{{"model", "NVIDIA-A100-SXM4-40GB"},
                                                {"gpus", 2},
                                                {"memoryMiB", 81920},
                                                {"usedMemoryMiB", 30720},
                                                {"usedComputeMilli", 750},
                                                {"freeWholeGpus", 0}}}));
  EXPECT_EQ(cluster.at("namespaces"), json::array({{{"namespace", "default"},
                                                    {"pods", 2},
                                                    {"memoryMiB", 30720},
                                                    {"computeMilli", 750},
                                                    {"capMilli", 1500}}}));
  const auto waiting = [](std::string_view code, std::string_view sentence) {
    return json{{"code", code}, {"sentence", sentence}, {"pods", 1}};
  };
  EXPECT_EQ(cluster.at("pending"),
            json::array({waiting("", ""), waiting("CapReached", "the namespace's cap is reached"),
                         waiting("Malformed", "what the pod asks for cannot be understood"),
                         waiting("TooLarge",
                                 "the request is larger than the node's GPUs even when they are "
                                 "empty")}));
  EXPECT_EQ(cluster.at("policy"), (json{{"generation", 1}, {"default", "a"}}));
}

TEST_F(UsageMonitorTest, PendingPodsOfSchedulersThatSnugDoesNotServeDoNotCount) {
  list({make_node("n1", 1, 40960)});
  for (const char* scheduler : {"snug", "default-scheduler"}) {
    model::PodFacts pod = make_pod(scheduler, {{"gpu-fraction", "0.1"}});
    pod.scheduler_name = scheduler;
    reconciler.pod_changed(pod);
  }
  EXPECT_EQ(monitor->measure().usage.all_pending_pods(), 2);
  scheduler_names = {"snug"};
  start();
  EXPECT_EQ(monitor->measure().usage.all_pending_pods(), 1);
}

TEST_F(UsageMonitorTest, APodThatIsBeingBoundIsNotPending) {
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  api.on_bind = [&](const model::Binding&) {
    EXPECT_EQ(get(&service::AdminService::cluster).at("pending"), json::array());
  };
  ASSERT_EQ(bind(pod, "n1"), "");
  ASSERT_EQ(api.bindings.size(), 1U);
}

TEST_F(UsageMonitorTest, TheHistoryHasASampleForEachIntervalAndTheLastOnesOnly) {
  const auto times = [&] {
    std::vector<std::int64_t> seconds;
    for (const usage::UsagePoint& point : monitor->history())
      seconds.push_back(point.time.time_since_epoch().count() - 1'800'000'000);
    return seconds;
  };
  const auto later = [&](std::chrono::seconds by) {
    clock.advance(by);
    wall_clock.time += by;
    monitor->tick();
  };
  monitor->tick();
  EXPECT_EQ(times(), std::vector<std::int64_t>{}) << "nothing has been listed yet";
  list({make_node("n1", 2, 40960)});
  monitor->tick();
  later(std::chrono::seconds(59));
  EXPECT_EQ(times(), (std::vector<std::int64_t>{0}));
  place("a", "0.5");
  later(std::chrono::seconds(1));
  EXPECT_EQ(times(), (std::vector<std::int64_t>{0, 60}));
  const json history = get(&service::AdminService::history);
  EXPECT_EQ(history.at("intervalSeconds"), 60);
  EXPECT_EQ(history.at("points").at(1),
            (json{{"time", 1'800'000'060},
                  {"gpus", 2},
                  {"usedComputeMilli", 500},
                  {"computeMilli", 2000},
                  {"usedMemoryMiB", 20480},
                  {"memoryMiB", 81920},
                  {"fragmentedMilli", monitor->measure().usage.fragmented.value},
                  {"pendingPods", 0}}));
  later(std::chrono::seconds(60));
  later(std::chrono::seconds(60));
  EXPECT_EQ(times(), (std::vector<std::int64_t>{60, 120, 180}));
}

TEST_F(UsageMonitorTest, AWarmStandbyTakesSamplesToo) {
  list({make_node("n1", 2, 40960)});
  readiness.stand_by("other", "");
  ASSERT_FALSE(readiness.is_ready());
  monitor->tick();
  EXPECT_EQ(monitor->history().size(), 1U);
}

TEST_F(UsageMonitorTest, ThePolicyIsShownAsItWasLoaded) {
  EXPECT_EQ(get(&service::AdminService::policy),
            (json{{"generation", 1}, {"source", "default"}, {"yaml", ""}}));
  policy_store->replace(
      service::LoadedPolicy{policy_store->current().policy,
                            std::make_shared<const service::PolicyText>(
                                service::PolicyText{"/etc/policy.yaml", "version: 1\n"})});
  EXPECT_EQ(get(&service::AdminService::policy),
            (json{{"generation", 2}, {"source", "/etc/policy.yaml"}, {"yaml", "version: 1\n"}}));
}

}  // namespace
}  // namespace snug::testing::usage_monitor_test
