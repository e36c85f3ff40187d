#include "snug/service/pod_info.hpp"

#include "unit/service/fixture.hpp"

namespace snug::testing::pod_info_test {
namespace {

TEST(PodInfoTest, ItHasWhatEachReaderOfAPodNeeds) {
  model::PodFacts facts = make_pod("a", {{"gpu-fraction", "0.5"}});
  facts.resource_version = "17";
  facts.priority = 3;
  facts.creation_timestamp = "2026-01-02T03:04:05Z";
  facts.containers[0].host = {.cpu_milli = 1500, .memory_bytes = std::int64_t{3} << 20};
  const service::PodInfo pod(facts);
  ASSERT_TRUE(pod.asks_for_gpus());
  EXPECT_EQ(model::to_text(*pod.request), "gpu-fraction=0.5");
  EXPECT_EQ(pod.host, facts.containers[0].host);
  EXPECT_EQ(pod.rank, (model::PodRank{3, "2026-01-02T03:04:05Z", "uid-a"}));
  ASSERT_TRUE(pod.shape);
  EXPECT_EQ(pod.shape->gpu_milli, 500);
  EXPECT_EQ(pod.shape->host_cpu_milli, 1500);
  EXPECT_EQ(pod.full_name(), "default/a");
  EXPECT_EQ(pod.facts.resource_version, "");
}

TEST(PodInfoTest, OnlyAPodThatAsksForGpusHasAShape) {
  EXPECT_FALSE(service::PodInfo(make_pod("a", {})).shape);
  const service::PodInfo malformed(make_pod("a", {{"gpu-fraction", "1.5"}}));
  EXPECT_FALSE(malformed.shape);
  EXPECT_FALSE(malformed.asks_for_gpus());
  EXPECT_EQ(malformed.request.error().code, model::ReasonCode::kMalformed);
}

class InternTest : public ServiceTest {
 protected:
  void SetUp() override {
    start(service::AnswerMode::kAll);
    list({make_node("n1", 1, 40960), make_node("n2", 1, 40960)});
  }
  /// The facts that a call with this pod has.
  static model::PodFacts as_called(const model::PodFacts& pod) {
    std::string body = nlohmann::json{{"Pod", pod_json(pod)}, {"NodeNames", {"n1"}}}.dump();
    return codec::ExtenderReader(base::Limits{}).read_schedule(body)->pod;
  }
  void call_each_verb(const model::PodFacts& pod) {
    filter(pod, {"n1", "n2"});
    prioritize(pod, {"n1", "n2"});
    std::string body =
        nlohmann::json{{"Pod", pod_json(pod)}, {"NodeNameToMetaVictims", {{"n1", {{"Pods", {}}}}}}}
            .dump();
    EXPECT_EQ(service->preempt(body).status, 200);
  }
};

TEST_F(InternTest, CallsShareTheRecordOfTheWatch) {
  const model::PodFacts facts = as_called(make_pod("a", {{"gpu-fraction", "0.5"}}));
  reconciler.pod_changed(facts);
  const service::PodInfoPtr shown = pending.find("uid-a");
  ASSERT_NE(shown, nullptr);
  call_each_verb(facts);
  // A verb that had made a record of its own would have left it here.
  EXPECT_EQ(pending.intern(facts), shown);
  EXPECT_EQ(pending.find("uid-a"), shown);
  EXPECT_EQ(bind(facts, "n1"), "");
}

TEST_F(InternTest, TheRecordOfAnUnknownPodIsSharedByCallsAndThenByTheWatch) {
  const model::PodFacts facts = as_called(make_pod("a", {{"gpu-fraction", "0.5"}}));
  filter(facts, {"n1", "n2"});
  const service::PodInfoPtr called = pending.intern(facts);
  EXPECT_EQ(called.use_count(), 2) << "filter has made it, and the table keeps it";
  EXPECT_EQ(pending.find("uid-a"), nullptr) << "the API server has not shown it";
  call_each_verb(facts);
  EXPECT_EQ(pending.intern(facts), called);
  reconciler.pod_changed(facts);
  EXPECT_EQ(pending.find("uid-a"), called);
  reconciler.pod_list_started();
  reconciler.pods_listed({facts});
  EXPECT_EQ(pending.find("uid-a"), called);
}

TEST_F(InternTest, AStatusUpdateKeepsTheRecord) {
  model::PodFacts facts = make_pod("a", {{"gpu-fraction", "0.5"}});
  facts.resource_version = "1";
  reconciler.pod_changed(facts);
  const service::PodInfoPtr first = pending.find("uid-a");
  facts.resource_version = "2";
  reconciler.pod_changed(facts);
  EXPECT_EQ(pending.find("uid-a"), first);
}

TEST_F(InternTest, AnEditedRequestMakesANewRecord) {
  model::PodFacts facts = as_called(make_pod("a", {{"gpu-fraction", "0.5"}}));
  reconciler.pod_changed(facts);
  const service::PodInfoPtr before = pending.find("uid-a");
  facts = as_called(make_pod("a", {{"gpu-fraction", "0.25"}}));
  const service::PodInfoPtr called = pending.intern(facts);
  EXPECT_NE(called, before);
  EXPECT_EQ(model::to_text(*called->request), "gpu-fraction=0.25");
  EXPECT_EQ(pending.find("uid-a"), before) << "until the API server shows the edit";
  reconciler.pod_changed(facts);
  EXPECT_EQ(pending.find("uid-a"), called);
  EXPECT_EQ(model::to_text(*before->request), "gpu-fraction=0.5") << "records never change";
}

/// Whoever reaches the port can send any body.
TEST_F(InternTest, ABodyWithAnotherPodsUidDoesNotChangeWhatBindKnows) {
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  model::PodFacts forged = make_pod("a", {{"gpu-fraction", "1"}});
  filter(forged, {"n1"});
  ASSERT_EQ(bind(pod, "n1"), "");
  EXPECT_EQ(used("n1", 0), 500);
}

TEST_F(InternTest, RecordsOfCallsEndWithTheirPods) {
  const model::PodFacts facts = make_pod("a", {{"gpu-fraction", "0.5"}});
  std::weak_ptr<const service::PodInfo> record = pending.intern(facts);
  EXPECT_FALSE(record.expired());
  reconciler.pod_gone(facts);
  EXPECT_TRUE(record.expired());
}

service::PodInfoPtr pod_with_uid(const std::string& name, const std::string& uid) {
  model::PodFacts facts = make_pod(name, {});
  facts.uid = uid;
  return std::make_shared<const service::PodInfo>(std::move(facts));
}

std::string uid_of(const service::PendingPods& pending, const std::string& name) {
  const service::PodInfoPtr pod = pending.find("default", name);
  return pod == nullptr ? "-" : pod->facts.uid;
}

TEST(PendingPodsTest, APodIsFoundByItsNameUntilItIsRemoved) {
  service::PendingPods pending(base::Limits{});
  pending.put(pod_with_uid("a", "u1"));
  pending.put(pod_with_uid("b", "u2"));
  EXPECT_EQ(uid_of(pending, "a"), "u1");
  EXPECT_EQ(pending.find("other", "a"), nullptr);
  const service::PodInfoPtr edited = pod_with_uid("a", "u1");
  pending.put(edited);
  EXPECT_EQ(pending.find("default", "a"), edited);
  pending.put(pod_with_uid("a", "u3"));
  EXPECT_EQ(uid_of(pending, "a"), "u3") << "the newest pod with this name";
  pending.put(edited);
  EXPECT_EQ(uid_of(pending, "a"), "u3") << "a late change of the earlier pod";
  pending.remove("u1");
  EXPECT_EQ(uid_of(pending, "a"), "u3");
  pending.remove("u3");
  EXPECT_EQ(uid_of(pending, "a"), "-");
  pending.remove("u3");
  pending.put(pod_with_uid("renamed", "u2"));
  EXPECT_EQ(uid_of(pending, "b"), "-");
  EXPECT_EQ(uid_of(pending, "renamed"), "u2");
  EXPECT_EQ(pending.size(), 1U);
}

TEST(PendingPodsTest, AListReplacesTheNamesToo) {
  base::Limits limits;
  limits.max_pending_pods = 2;
  service::PendingPods pending(limits);
  pending.put(pod_with_uid("a", "u1"));
  pending.replace({pod_with_uid("a", "u2"), pod_with_uid("b", "u3"), pod_with_uid("c", "u4")});
  EXPECT_EQ(uid_of(pending, "a"), "u2");
  EXPECT_EQ(uid_of(pending, "b"), "u3");
  EXPECT_EQ(uid_of(pending, "c"), "-") << "the table is full";
  pending.put(pod_with_uid("c", "u4"));
  EXPECT_EQ(uid_of(pending, "c"), "-");
  pending.remove("u3");
  pending.put(pod_with_uid("c", "u4"));
  EXPECT_EQ(uid_of(pending, "c"), "u4");
  pending.replace({});
  EXPECT_EQ(uid_of(pending, "a"), "-");
}

TEST(PendingPodsTest, RecordsOfCallsAreBounded) {
  base::Limits limits;
  limits.max_pending_pods = 3;
  service::PendingPods pending(limits);
  std::vector<std::weak_ptr<const service::PodInfo>> records;
  for (int i = 0; i < 10; ++i) {
    records.emplace_back(pending.intern(make_pod("p" + std::to_string(i), {})));
  }
  EXPECT_EQ(std::ranges::count_if(records, [](const auto& each) { return !each.expired(); }), 3);
  EXPECT_FALSE(records.back().expired());
}

}  // namespace
}  // namespace snug::testing::pod_info_test
