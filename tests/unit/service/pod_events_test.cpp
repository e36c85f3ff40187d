// Events about single pods: what they say, how often, and that they need no time in filter or bind.
#include "snug/service/pod_events.hpp"

#include <gmock/gmock.h>

#include "snug/service/explain_service.hpp"
#include "unit/service/fixture.hpp"

namespace snug::pod_events_test {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::make_node;
using testing::make_pod;
using ::testing::SizeIs;
using ::testing::StartsWith;

class DroppedEvents final : public NoMetrics {
 public:
  void event_dropped() override { ++count; }
  int count = 0;
};

class PodEventsTest : public testing::ServiceTest {
 protected:
  void start_with_events() {
    start();
    explanations.emplace(
        service::ExplainParts{ledger, pending, readiness, *policy_store, placements, api},
        service_options());
    events.emplace(service::PodEventsParts{ledger, pending, readiness, placements, *explanations,
                                           api, dropped, clock},
                   service_options());
    service = std::make_unique<service::ExtenderService>(
        service::ServiceParts{ledger, pending, readiness, fence, *policy_store, placements, api,
                              metrics, log, clock, nullptr, &*events},
        service_options());
    watch.emplace(service::ReconcilerParts{ledger, pending, demand, readiness, api, metrics, log,
                                           clock, &*events},
                  limits);
  }
  model::PodFacts show(model::PodFacts pod) {
    watch->pod_changed(pod);
    api.pods["default/" + pod.name] = pod;
    return pod;
  }
  model::PodFacts show(const std::string& name, const model::StringMap& annotations) {
    return show(make_pod(name, annotations));
  }
  void wait(std::int64_t ms) {
    clock.advance(milliseconds(ms));
    watch->tick();
    events->tick();
  }
  void place(const std::string& name, const model::StringMap& annotations,
             const std::string& node = "n1") {
    const model::PodFacts pod = show(name, annotations);
    filter(pod, {node});
    EXPECT_EQ(bind(pod, node), "");
    watch->pod_changed(bound(pod, api.bindings.back()));
  }
  std::vector<std::string> notes(std::string_view reason) const {
    std::vector<std::string> found;
    for (const model::Notice& notice : api.notices) {
      if (notice.reason == reason) found.push_back(notice.note);
    }
    return found;
  }

  DroppedEvents dropped;
  std::optional<service::ExplainService> explanations;
  std::optional<service::PodEvents> events;
  std::optional<service::Reconciler> watch;
};

TEST_F(PodEventsTest, ABoundPodSaysWhatItWasGiven) {
  start_with_events();
  list({make_node("n1", 4, 40'960)});
  place("a", {{"gpu-fraction", "0.25"}});
  EXPECT_THAT(api.notices, IsEmpty()) << "bind itself writes none";
  wait(1'000);
  place("b", {{"gpu-memory", "4G"}});
  place("c", {{"gpu-fraction", "0.5"}, {"gpu-count", "2"}});
  place("d", {{"gpu-fraction", "1"}});
  wait(1'000);
  EXPECT_THAT(
      notes("GpuAssigned"),
      ElementsAre("GPU 0 (NVIDIA-A100-SXM4-40GB) of node n1: 10240 MiB, 25 %, no other pod on it",
                  "GPU 0 (NVIDIA-A100-SXM4-40GB) of node n1: 3815 MiB, 9.3 %, shared with 1 pod",
                  "on node n1: GPU 1 (NVIDIA-A100-SXM4-40GB): 20480 MiB, 50 %, no other pod on it; "
                  "GPU 2 (NVIDIA-A100-SXM4-40GB): 20480 MiB, 50 %, no other pod on it",
                  "GPU 3 (NVIDIA-A100-SXM4-40GB) of node n1: the whole GPU, 40960 MiB"));
  for (const model::Notice& notice : api.notices) {
    EXPECT_EQ(notice.type, model::EventType::kNormal);
    EXPECT_EQ(notice.about, model::ObjectKind::kPod);
  }
}

TEST_F(PodEventsTest, ManyDevicesAndContainersStayOneShortSentence) {
  start_with_events();
  list({make_node("n1", 64, 40'960)});
  place("many", {{"gpu-fraction", "64"}});
  wait(1'000);
  ASSERT_THAT(notes("GpuAssigned"), SizeIs(1));
  EXPECT_THAT(notes("GpuAssigned")[0], HasSubstr("; and 56 more GPUs"));
  EXPECT_LT(notes("GpuAssigned")[0].size(), 1'024U);
}

TEST_F(PodEventsTest, EventsAboutBindsAreDroppedBeyondTheQueue) {
  limits.max_queued_events = 2;
  start_with_events();
  list({make_node("n1", 4, 40'960)});
  for (const char* name : {"a", "b", "c"}) place(name, {{"gpu-fraction", "0.25"}});
  wait(1'000);
  EXPECT_EQ(dropped.count, 1);
  EXPECT_THAT(notes("GpuAssigned"), SizeIs(2));
}

TEST_F(PodEventsTest, ABindOfUnknownOutcomeIsSaidOnceWhenItIsKnownToHaveSucceeded) {
  struct Row {
    const char* shown_by;
    std::function<void(const model::PodFacts&)> show;
    std::size_t events;
  };
  const Row rows[] = {
      {"get", [](const model::PodFacts&) {}, 1},
      {"watch", [this](const model::PodFacts& pod) { watch->pod_changed(pod); }, 1},
      {"list",
       [this](const model::PodFacts& pod) {
         watch->pod_list_started();
         watch->pods_listed({pod});
       },
       1},
      {"edited",
       [this](model::PodFacts pod) {
         pod.annotations.erase("snug.dev/reservation");  // not the binding that Snug has sent
         watch->pod_changed(pod);
       },
       0}};
  start_with_events();
  list({make_node("n1", 4, 40'960)});
  for (const Row& row : rows) {
    SCOPED_TRACE(row.shown_by);
    api.notices.clear();
    const model::PodFacts pod = show(row.shown_by, {{"gpu-fraction", "1"}});
    filter(pod, {"n1"});
    api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
    EXPECT_THAT(bind(pod, "n1"), HasSubstr("unknown"));
    wait(100);
    EXPECT_THAT(notes("GpuAssigned"), IsEmpty());
    const model::PodFacts shown = bound(pod, api.bindings.back());
    api.pods["default/" + pod.name] = shown;
    row.show(shown);
    for (int i = 0; i < 3; ++i) wait(2'000);
    EXPECT_THAT(notes("GpuAssigned"), SizeIs(row.events));
    watch->pod_changed(shown);
    EXPECT_EQ(bind(pod, "n1"), "");
    wait(2'000);
    EXPECT_THAT(notes("GpuAssigned"), SizeIs(row.events)) << "once for each pod";
    watch->pod_gone(shown);
  }
}

TEST_F(PodEventsTest, ABindThatTheWatchShowsBeforeItsAnswerIsSaidOnce) {
  start_with_events();
  list({make_node("n1", 4, 40'960)});
  for (const bool is_answered : {true, false}) {
    const std::string name = is_answered ? "answered" : "lost";
    const model::PodFacts pod = show(name, {{"gpu-fraction", "1"}});
    filter(pod, {"n1"});
    api.on_bind = [&](const model::Binding& sent) { watch->pod_changed(bound(pod, sent)); };
    if (!is_answered)
      api.bind_answers.emplace_back(base::fail(base::ErrorCode::kUnknown, "timed out"));
    bind(pod, "n1");
    wait(1'000);
    EXPECT_THAT(notes("GpuAssigned"), SizeIs(is_answered ? 1 : 2)) << name;
  }
}

TEST_F(PodEventsTest, ARefusedPodSaysWhatIsLackingAndWhatWouldHelp) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  place("a", {{"gpu-fraction", "0.75"}});
  const model::PodFacts pod = show("b", {{"gpu-fraction", "0.5"}});
  filter(pod, {"n1"});
  wait(limits.refusal_event_delay_ms - 1);
  EXPECT_THAT(notes("GpuRefused"), IsEmpty()) << "most waits are shorter";
  wait(1);
  ASSERT_THAT(notes("GpuRefused"), SizeIs(1));
  const std::string note = notes("GpuRefused")[0];
  EXPECT_THAT(note, StartsWith("NoRoom: no GPU has room for the request (1 of 1 node). Nearest: "
                               "GPU 0 (NVIDIA-A100-SXM4-40GB) of node n1"));
  EXPECT_THAT(note, HasSubstr(". What would help: "));
  EXPECT_LT(note.size(), 1'024U);
}

TEST_F(PodEventsTest, APodIsNotToldThatItsRoomIsPromisedToItself) {
  start_with_events();
  list({make_node("n1", 1, 40'960), make_node("n2", 1, 40'960)});
  const model::PodFacts a = show("a", {{"gpu-fraction", "1"}});
  const model::PodFacts b = show("b", {{"gpu-fraction", "1"}});
  filter(a, {"n1"});
  filter(b, {"n1"});
  wait(limits.refusal_event_delay_ms);
  ASSERT_THAT(notes("GpuRefused"), ElementsAre(HasSubstr("Nearest: node n1: default/a.")));
  filter(a, {"n2"});
  filter(b, {"n1"});
  filter(a, {"n1"});
  wait(limits.refusal_event_delay_ms);
  EXPECT_THAT(notes("GpuRefused"), ElementsAre(HasSubstr("Nearest: node n1: default/a."),
                                               HasSubstr("Nearest: node n1: default/b.")));
}

TEST_F(PodEventsTest, ARefusalIsSaidOnceInItsTimeForEachReason) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  const model::PodFacts pod = show("b", {{"gpu-fraction", "4"}});
  for (int i = 0; i < 200; ++i) {  // kube-scheduler tries it every 2.5 s
    filter(pod, {"n1"});
    wait(2'500);
  }
  EXPECT_THAT(notes("GpuRefused"), SizeIs(1));
  for (int i = 0; i < 200; ++i) {
    filter(pod, {"n1"});
    wait(2'500);
  }
  EXPECT_THAT(notes("GpuRefused"), SizeIs(2)) << "refusal_event_repeat_ms have passed";
  filter(pod, {});
}

TEST_F(PodEventsTest, NothingIsSaidAboutAPodThatWasBoundOrDeletedMeanwhile) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  place("a", {{"gpu-fraction", "1"}});
  const model::PodFacts late = show("late", {{"gpu-fraction", "0.5"}});
  const model::PodFacts gone = show("gone", {{"gpu-fraction", "0.5"}});
  filter(late, {"n1"});
  filter(gone, {"n1"});
  watch->pod_gone(gone);
  watch->pod_gone(make_pod("a", {}));
  filter(late, {"n1"});
  EXPECT_EQ(bind(late, "n1"), "");
  wait(limits.refusal_event_delay_ms);
  EXPECT_THAT(notes("GpuRefused"), IsEmpty());
}

TEST_F(PodEventsTest, ManyRefusedPodsShareTheAllowance) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  std::vector<model::PodFacts> pods;
  for (int i = 0; i < 300; ++i)
    pods.push_back(show("p" + std::to_string(i), {{"gpu-fraction", "2"}}));
  for (const model::PodFacts& pod : pods) filter(pod, {"n1"});
  wait(limits.refusal_event_delay_ms);
  EXPECT_EQ(std::ssize(notes("GpuRefused")), limits.pod_events_per_s);
  for (int second = 0; second < 10; ++second) wait(1'000);
  EXPECT_THAT(notes("GpuRefused"), SizeIs(300));
  for (const model::PodFacts& pod : pods) filter(pod, {"n1"});
  for (int second = 0; second < 60; ++second) wait(1'000);
  EXPECT_THAT(notes("GpuRefused"), SizeIs(300)) << "one each in ten minutes";
}

TEST_F(PodEventsTest, AMalformedRequestIsQuotedAsItIs) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  const auto reply = filter(show("b", {{"gpu-fraction", "25%"}}), {"n1"});
  const auto shown = reply["FailedAndUnresolvableNodes"]["n1"].get<std::string>();
  EXPECT_THAT(shown, HasSubstr("gpu-fraction is \"25\uFF05\""));
  EXPECT_EQ(shown.find('%'), std::string::npos) << "kube-scheduler formats it";
  wait(limits.refusal_event_delay_ms);
  ASSERT_THAT(notes("GpuRefused"), SizeIs(1));
  EXPECT_THAT(notes("GpuRefused")[0], StartsWith("Malformed: gpu-fraction is \"25%\"; expected "));
}

TEST_F(PodEventsTest, AModelThatNoNodeHasIsSaid) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  filter(show("b", {{"gpu-fraction", "0.5"}, {"gpu-model", "A1000*"}}), {"n1"});
  wait(limits.refusal_event_delay_ms);
  EXPECT_THAT(notes("GpuRefused"),
              ElementsAre(HasSubstr("no GPU in the cluster matches gpu-model \"A1000*\"; the "
                                    "models are NVIDIA-A100-SXM4-40GB")));
}

TEST_F(PodEventsTest, ALikelyMistakeIsSaidOnceWhateverSchedulerBindsThePod) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  model::PodFacts typo = make_pod("typo", {{"gpu-fracton", "0.5"}});
  typo.scheduler_name = "default-scheduler";
  show(typo);
  for (int i = 0; i < 3; ++i) show(typo);
  typo.node_name = "n1";
  watch->pod_changed(typo);
  wait(limits.refusal_event_delay_ms);
  wait(3'600'000);
  EXPECT_THAT(
      notes("GpuRequestIgnored"),
      ElementsAre("Snug does not read the annotation gpu-fracton; if the pod needs a GPU, use "
                  "gpu-fraction"));
}

TEST_F(PodEventsTest, APodOfAnotherSchedulerIsNotAdvised) {
  scheduler_names = {"snug"};
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  model::PodFacts pod = make_pod("other", {{"gpu-fraction", "0.5"}});
  pod.scheduler_name = "default-scheduler";
  filter(show(pod), {"n1"});
  wait(limits.refusal_event_delay_ms);
  EXPECT_THAT(notes("GpuRefused"), ElementsAre(model::message(model::ReasonCode::kNotServed)));
}

TEST_F(PodEventsTest, TheNearestNodeIsOneThatWasOffered) {
  start_with_events();
  list({make_node("n1", 1, 40'960), make_node("n2", 1, 40'960)});
  place("a", {{"gpu-fraction", "0.9"}}, "n1");
  place("b", {{"gpu-fraction", "0.6"}}, "n2");
  for (const char* node : {"n1", "n2"}) {
    filter(show(std::string("w-") + node, {{"gpu-fraction", "0.5"}}), {node});
    wait(limits.refusal_event_delay_ms);
    ASSERT_THAT(notes("GpuRefused"), ::testing::Not(::testing::IsEmpty()));
    EXPECT_THAT(notes("GpuRefused").back(), ::testing::HasSubstr(std::string("node ") + node));
  }
}

TEST_F(PodEventsTest, KeysOfOtherSystemsAreSaidOnlyWhereNobodyElseReadsThem) {
  struct Row {
    const char* scheduler;
    bool bound;
    bool said;
  };
  const Row rows[] = {{"snug", false, true},
                      {"snug", true, true},
                      {"default-scheduler", false, true},
                      {"default-scheduler", true, false},
                      {"hami-scheduler", false, false}};
  scheduler_names = {"snug"};
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  for (const Row& row : rows) {
    api.notices.clear();
    model::PodFacts pod = make_pod(std::string(row.scheduler) + (row.bound ? "-bound" : ""), {});
    pod.scheduler_name = row.scheduler;
    pod.containers[0].gpu_resources["nvidia.com/gpumem"] = "3000";
    show(pod);
    if (row.bound) {
      pod.node_name = "n1";
      watch->pod_changed(pod);
    }
    wait(limits.refusal_event_delay_ms);
    EXPECT_THAT(notes("GpuRequestIgnored"), SizeIs(row.said ? 1 : 0))
        << row.scheduler << (row.bound ? " bound" : "");
  }
}

TEST_F(PodEventsTest, WithoutSchedulerNamesEveryPendingPodMayBeMeantForSnug) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  for (const bool bound : {false, true}) {
    api.notices.clear();
    model::PodFacts pod = make_pod(bound ? "bound" : "pending", {});
    pod.scheduler_name = "snug";
    pod.containers[0].gpu_resources["nvidia.com/gpumem"] = "3000";
    show(pod);
    if (bound) {
      pod.node_name = "n1";
      watch->pod_changed(pod);
    }
    wait(limits.refusal_event_delay_ms);
    EXPECT_THAT(notes("GpuRequestIgnored"), SizeIs(bound ? 0 : 1));
  }
}

TEST_F(PodEventsTest, AStandbyWritesNothing) {
  start_with_events();
  list({make_node("n1", 1, 40'960)});
  filter(show("b", {{"gpu-fraction", "4"}}), {"n1"});
  readiness.stand_by("other_1", "");
  show("typo", {{"gpu-fracton", "0.5"}});
  wait(limits.refusal_event_delay_ms);
  EXPECT_THAT(api.notices, IsEmpty());
}

}  // namespace
}  // namespace snug::pod_events_test
