#include "snug/adapters/memory/memory_api.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <set>

namespace snug::memory_api_test {
namespace {

model::PodFacts pod(std::string name, std::string uid) {
  model::PodFacts result;
  result.name_space = "ml";
  result.name = std::move(name);
  result.uid = std::move(uid);
  return result;
}

model::NodeFacts node(std::string name) {
  model::NodeFacts result;
  result.name = std::move(name);
  return result;
}

model::Binding binding(std::string name, std::string uid, std::string to = "n1") {
  return {"ml", std::move(name), std::move(uid), std::move(to), {{"snug.dev/reservation", "r"}}};
}

/// Writes down what it is told, one word for each call.
class Recorder : public service::ClusterSink {
 public:
  void pod_list_started() override { log.push_back("begins"); }
  void pods_listed(std::vector<model::PodFacts> pods) override {
    std::string text = "pods";
    for (const model::PodFacts& each : pods) text += " " + each.name;
    log.push_back(text);
  }
  void pod_changed(model::PodFacts changed) override {
    log.push_back("changed " + changed.name + "@" + changed.node_name);
    last = std::move(changed);
  }
  void pod_gone(const model::PodFacts& gone) override { log.push_back("gone " + gone.name); }
  void nodes_listed(std::vector<model::NodeFacts> nodes) override {
    std::string text = "nodes";
    for (const model::NodeFacts& each : nodes) text += " " + each.name;
    log.push_back(text);
  }
  void node_changed(model::NodeFacts changed) override { log.push_back("node " + changed.name); }
  void node_gone(std::string_view name) override { log.push_back("no node " + std::string(name)); }

  std::vector<std::string> log;
  model::PodFacts last;
};

using Words = std::vector<std::string>;

TEST(MemoryApiTest, AStartTellsTheListsThenEveryChangeInOrder) {
  model::PodFacts done = pod("done", "u0");
  done.finished = true;
  memory::MemoryApi api({{node("n2"), node("n1")}, {pod("a", "u1"), done}}, base::Limits{});
  Recorder recorder;
  EXPECT_TRUE(api.post_pod(pod("early", "u2")).has_value());
  api.start(recorder);
  EXPECT_EQ(recorder.log, (Words{"begins", "nodes n1 n2", "pods a early"}));
  recorder.log.clear();

  EXPECT_TRUE(api.post_pod(pod("b", "u3")).has_value());
  EXPECT_TRUE(api.bind(binding("b", "u3")).has_value());
  EXPECT_TRUE(api.delete_pod("ml", "b").has_value());
  api.put_node(node("n3"));
  api.delete_node("n3");
  api.delete_node("n3");
  EXPECT_EQ(recorder.log, (Words{"changed b@", "changed b@n1", "gone b", "node n3", "no node n3"}));
  recorder.log.clear();

  api.stop();
  EXPECT_TRUE(api.post_pod(pod("late", "u4")).has_value());
  EXPECT_TRUE(recorder.log.empty());
  api.start(recorder);
  EXPECT_EQ(recorder.log, (Words{"begins", "nodes n1 n2", "pods a early late"}));
}

TEST(MemoryApiTest, ABindSetsTheNodeAndMergesAnnotations) {
  model::PodFacts first = pod("a", "u1");
  first.annotations = {{"gpu-fraction", "0.5"},
                       {"snug.dev/reservation", "forged"},
                       {"snug.dev/visible-devices", "forged"}};
  memory::MemoryApi api({{}, {first}}, base::Limits{});
  Recorder recorder;
  api.start(recorder);
  model::Binding to = binding("a", "u1");
  to.annotations["snug.dev/visible-devices"] = "";
  ASSERT_TRUE(api.bind(to).has_value());
  const auto stored = api.get_pod("ml", "a");
  ASSERT_TRUE(stored.has_value() && stored->has_value());
  EXPECT_EQ((*stored)->node_name, "n1");
  EXPECT_EQ((*stored)->annotations.at("gpu-fraction"), "0.5");
  EXPECT_EQ((*stored)->annotations.at("snug.dev/reservation"), "r");
  EXPECT_EQ((*stored)->annotations.at("snug.dev/visible-devices"), "");
  EXPECT_EQ(recorder.last, **stored);
}

TEST(MemoryApiTest, ABindIsRefusedAsTheApiServerDoes) {
  model::PodFacts dying = pod("dying", "u2");
  dying.terminating = true;
  memory::MemoryApi api({{}, {pod("a", "u1"), dying}}, base::Limits{});
  Recorder recorder;
  api.start(recorder);
  recorder.log.clear();
  EXPECT_EQ(api.bind(binding("none", "u1")).error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(api.bind(binding("a", "other")).error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(api.bind(binding("dying", "u2")).error().code, base::ErrorCode::kConflict);
  EXPECT_TRUE(recorder.log.empty());
  EXPECT_TRUE(api.bind(binding("a", "")).has_value()) << "without a uid there is no precondition";
  const auto again = api.bind(binding("a", "u1", "n2"));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, base::ErrorCode::kConflict);
  EXPECT_NE(again.error().message.find("already assigned to the node n1"), std::string::npos);
  EXPECT_EQ((*api.get_pod("ml", "a"))->node_name, "n1");
}

TEST(MemoryApiTest, AGatedPodIsNotBoundUntilItComesWithoutGates) {
  model::PodFacts waits = pod("a", "u1");
  waits.gated = true;
  memory::MemoryApi api({{}, {waits}}, base::Limits{});
  Recorder recorder;
  api.start(recorder);
  recorder.log.clear();
  const auto refused = api.bind(binding("a", "u1"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message, "the pod ml/a has spec.schedulingGates, and cannot be bound");
  EXPECT_EQ((*api.get_pod("ml", "a"))->node_name, "");

  EXPECT_TRUE(api.post_pod(pod("a", "u1")).has_value()) << "as if its gates had been removed";
  EXPECT_EQ(recorder.log, Words{"changed a@"});
  EXPECT_FALSE(recorder.last.gated);
  EXPECT_TRUE(api.bind(binding("a", "u1")).has_value());
}

TEST(MemoryApiTest, APodThatNoSchedulerAsksAboutIsNotPosted) {
  memory::MemoryApi api({{}, {pod("a", "u1")}}, base::Limits{});
  Recorder recorder;
  api.start(recorder);
  recorder.log.clear();
  for (const char* uid : {"u1", "u2"}) {
    const std::string name = uid == std::string("u1") ? "a" : "b";
    model::PodFacts waits = pod(name, uid);
    waits.gated = true;
    model::PodFacts assigned = pod(name, uid);
    assigned.node_name = "n2";
    for (const auto& [posted, sentence] : std::vector<std::pair<model::PodFacts, std::string>>{
             {waits, "the pod ml/" + name +
                         " has spec.schedulingGates; filter accepts a pod only after its gates are "
                         "removed"},
             {assigned,
              "the pod ml/" + name +
                  " has spec.nodeName n2; filter accepts only pods without spec.nodeName, and "
                  "running pods belong in the files of --cluster"}}) {
      const auto refused = api.post_pod(posted);
      ASSERT_FALSE(refused.has_value()) << sentence;
      EXPECT_EQ(refused.error().code, base::ErrorCode::kInvalid);
      EXPECT_EQ(refused.error().message, sentence);
    }
  }
  EXPECT_TRUE(recorder.log.empty());
  EXPECT_FALSE(api.get_pod("ml", "b")->has_value());

  ASSERT_TRUE(api.bind(binding("a", "u1")).has_value());
  model::PodFacts as_bound = pod("a", "u1");
  as_bound.node_name = "n1";
  EXPECT_TRUE(api.post_pod(as_bound).has_value()) << "it is there, and on that node";
}

TEST(MemoryApiTest, AKnownUidIsNotPostedAgain) {
  memory::MemoryApi api({{}, {pod("a", "u1")}}, base::Limits{});
  Recorder recorder;
  api.start(recorder);
  recorder.log.clear();
  ASSERT_TRUE(api.bind(binding("a", "u1")).has_value());
  EXPECT_TRUE(api.post_pod(pod("a", "u1")).has_value());
  EXPECT_EQ((*api.get_pod("ml", "a"))->node_name, "n1");
  EXPECT_EQ(recorder.log, Words{"changed a@n1"});
}

TEST(MemoryApiTest, APodThatCannotBeIsNotPosted) {
  base::Limits limits;
  limits.max_pending_pods = 2;
  memory::MemoryApi api({{}, {pod("a", "u1")}}, limits);
  EXPECT_EQ(api.post_pod(pod("a", "u2")).error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(api.post_pod(pod("b", "")).error().code, base::ErrorCode::kInvalid);
  EXPECT_EQ(api.post_pod(pod("", "u2")).error().code, base::ErrorCode::kInvalid);
  EXPECT_TRUE(api.post_pod(pod("b", "u2")).has_value());
  EXPECT_EQ(api.post_pod(pod("c", "u3")).error().code, base::ErrorCode::kTooLarge);
  EXPECT_TRUE(api.delete_pod("ml", "a").has_value());
  EXPECT_TRUE(api.post_pod(pod("a", "u4")).has_value()) << "the name is free again";
}

TEST(MemoryApiTest, WhatIsThereStaysAsItWasFirstPosted) {
  model::PodFacts first = pod("a", "u1");
  first.annotations = {{"gpu-fraction", "0.5"}};
  memory::MemoryApi api({{}, {first}}, base::Limits{});
  ASSERT_TRUE(api.bind(binding("a", "u1")).has_value());
  model::PodFacts changed = first;
  changed.annotations["gpu-fraction"] = "0.6";
  model::PodFacts more = first;
  more.containers.push_back({.name = "second"});
  const std::string stays =
      "; to replace it, first delete it with DELETE /v1/pods/ml/a on the admin port";
  const std::vector<std::pair<model::PodFacts, std::string>> rows = {
      {changed, "the pod ml/a already exists with another request" + stays},
      {more, "the pod ml/a already exists with another request" + stays},
      {pod("a", "u2"), "the pod ml/a already exists with another uid" + stays},
      {pod("b", "u1"), "the uid u1 belongs to the pod ml/a; a different pod needs a different uid"},
  };
  for (const auto& [posted, sentence] : rows) {
    const auto refused = api.post_pod(posted);
    ASSERT_FALSE(refused.has_value()) << sentence;
    EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
    EXPECT_EQ(refused.error().message, sentence);
  }
  EXPECT_TRUE(api.post_pod(first).has_value()) << "what a bind wrote is no other request";
}

TEST(MemoryApiTest, AnEndedPodsUidIsRememberedForAWhile) {
  base::Limits limits;
  limits.max_tombstones = 2;
  memory::MemoryApi api({{}, {pod("a", "u1"), pod("b", "u2"), pod("c", "u3")}}, limits);
  ASSERT_TRUE(api.delete_pod("ml", "a").has_value());
  ASSERT_TRUE(api.delete_pod("ml", "b").has_value());
  const auto refused = api.post_pod(pod("a", "u1"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, base::ErrorCode::kConflict);
  EXPECT_EQ(refused.error().message,
            "the uid u1 belonged to the pod ml/a, which was deleted; a new pod needs a new uid");
  EXPECT_TRUE(api.post_pod(pod("a", "u4")).has_value());
  EXPECT_FALSE(api.post_pod(pod("z", "u1")).has_value()) << "also when its name is taken again";
  ASSERT_TRUE(api.delete_pod("ml", "c").has_value());
  EXPECT_TRUE(api.post_pod(pod("z", "u1")).has_value()) << "two others ended since";
}

TEST(MemoryApiTest, ADeletedPodIsGone) {
  memory::MemoryApi api({{}, {pod("a", "u1")}}, base::Limits{});
  EXPECT_EQ(api.delete_pod("ml", "b").error().code, base::ErrorCode::kNotFound);
  EXPECT_TRUE(api.delete_pod("ml", "a").has_value());
  EXPECT_FALSE(api.get_pod("ml", "a")->has_value());
  EXPECT_EQ(api.delete_pod("ml", "a").error().code, base::ErrorCode::kNotFound);
}

TEST(MemoryApiTest, PodsOfAManifestWithoutUidGetOne) {
  memory::MemoryApi api({{}, {pod("a", ""), pod("b", ""), pod("a", "again")}}, base::Limits{});
  const std::string a = (*api.get_pod("ml", "a"))->uid;
  const std::string b = (*api.get_pod("ml", "b"))->uid;
  EXPECT_FALSE(a.empty());
  EXPECT_FALSE(b.empty());
  EXPECT_NE(a, b);
}

TEST(MemoryApiTest, UidsThatAreMadeUpMeetNoOther) {
  model::PodFacts one = pod("c", "");
  one.name_space = "a-b";
  model::PodFacts other = pod("b-c", "");
  other.name_space = "a";
  memory::MemoryApi first({{}, {one, other}}, base::Limits{});
  const std::string uid = (*first.get_pod("a-b", "c"))->uid;
  ASSERT_TRUE(first.get_pod("a", "b-c")->has_value());
  EXPECT_NE((*first.get_pod("a", "b-c"))->uid, uid);

  memory::MemoryApi second({{}, {pod("taken", uid), one}}, base::Limits{});
  EXPECT_EQ((*second.get_pod("ml", "taken"))->uid, uid);
  EXPECT_NE((*second.get_pod("a-b", "c"))->uid, uid);
}

TEST(MemoryApiTest, TouchesAreCountedAndTheLastNoticesKept) {
  base::Limits limits;
  limits.max_queued_events = 2;
  memory::MemoryApi api({}, limits);
  EXPECT_TRUE(api.wake_pending_pods({1}).has_value());
  EXPECT_TRUE(api.wake_pending_pods({2}).has_value());
  EXPECT_EQ(api.wake_ups(), 2U);
  for (const char* name : {"a", "b", "c"}) api.notify({"ml", name, "u", "Reason", "note"});
  const auto notices = api.notices();
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].name, "b");
  EXPECT_EQ(notices[1].name, "c");
}

TEST(MemoryApiTest, TheMirroredCapacityIsOfOneNodeAndIsShown) {
  model::NodeFacts node;
  node.name = "n1";
  memory::MemoryApi api({{node}, {}}, base::Limits{});
  class Keeper : public Recorder {
   public:
    void node_changed(model::NodeFacts changed) override { shown.push_back(changed.mirrored); }
    std::vector<model::ShownAmounts> shown;
  } keeper;
  api.start(keeper);
  ASSERT_TRUE(api.set_mirrored_capacity("n1", model::MirroredAmounts{{1000}, {40960}}));
  ASSERT_TRUE(api.set_mirrored_capacity("n1", std::nullopt));
  EXPECT_EQ(api.set_mirrored_capacity("n2", std::nullopt).error().code, base::ErrorCode::kNotFound);
  EXPECT_EQ(keeper.shown, (std::vector<model::ShownAmounts>{{{1000, 40960}, {1000, 40960}}, {}}));
  EXPECT_EQ(api.mirror_parameters(), std::nullopt);
  ASSERT_TRUE(api.write_mirror_parameters(admission::CardRange{{1}, {2}}));
  EXPECT_EQ(api.mirror_parameters(), (admission::CardRange{{1}, {2}}));
  ASSERT_TRUE(api.write_mirror_parameters(std::nullopt));
  EXPECT_EQ(api.mirror_parameters(), std::nullopt);
}

TEST(MemoryApiTest, ASinkMayChangeTheClusterItself) {
  memory::MemoryApi api({{}, {pod("a", "u1")}}, base::Limits{});
  class Meddler : public Recorder {
   public:
    explicit Meddler(memory::MemoryApi& api) : api_(api) {}
    void pod_changed(model::PodFacts changed) override {
      Recorder::pod_changed(changed);
      if (changed.name == "a") {
        EXPECT_TRUE(api_.delete_pod("ml", "a").has_value());
        log.push_back("after");
      }
    }

   private:
    memory::MemoryApi& api_;
  };
  Meddler meddler(api);
  api.start(meddler);
  meddler.log.clear();
  ASSERT_TRUE(api.bind(binding("a", "u1")).has_value());
  EXPECT_EQ(meddler.log, (Words{"changed a@n1", "after", "gone a"}));
}

TEST(MemoryApiTest, ManyThreadsBindEveryPodOnceAndEveryChangeIsTold) {
  constexpr int kThreads = 8;
  constexpr int kPods = 200;
  codec::Manifests manifests;
  for (int i = 0; i < kPods; ++i) {
    manifests.pods.push_back(pod("p" + std::to_string(i), "u" + std::to_string(i)));
  }
  memory::MemoryApi api(std::move(manifests), base::Limits{});
  Recorder recorder;
  api.start(recorder);
  recorder.log.clear();
  std::barrier ready(kThreads);
  std::atomic<int> bound{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      ready.arrive_and_wait();
      for (int i = 0; i < kPods; ++i) {
        const std::string id = std::to_string(i);
        bound += api.bind(binding("p" + id, "u" + id, "n" + std::to_string(t))) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bound, kPods);
  // Every event was delivered by the time its call returned, and one at a time.
  EXPECT_EQ(recorder.log.size(), static_cast<std::size_t>(kPods));
  EXPECT_EQ(std::set(recorder.log.begin(), recorder.log.end()).size(), recorder.log.size());
}

}  // namespace
}  // namespace snug::memory_api_test
