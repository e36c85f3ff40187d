#include "unit/service/fixture.hpp"

namespace snug::testing::reconciler_test {
namespace {

class ReconcilerTest : public ServiceTest {};

model::PodFacts by_kubelet(const std::string& name, const std::string& count) {
  model::PodFacts pod = make_pod(name, {});
  pod.containers[0].gpu_resources["nvidia.com/gpu"] = count;
  return pod;
}

TEST_F(ReconcilerTest, TheLedgerIsRebuiltFromAnnotations) {
  start();
  list({make_node("n1", 2, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.25"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  model::PodFacts shown = bound(pod, api.bindings.front());
  shown.annotations["gpu-fraction"] = "0.75";  // edited since: a request is what was bound

  ledger::Ledger rebuilt(clock, limits);
  service::PendingPods nothing_pending(limits);
  service::Readiness fresh{clock, limits};
  ledger::DemandTracker rebuilt_demand(rebuilt);
  service::Reconciler other(
      {rebuilt, nothing_pending, rebuilt_demand, fresh, api, metrics, log, clock}, limits);
  other.pod_list_started();
  other.pods_listed({shown});
  EXPECT_FALSE(fresh.is_ready());
  other.nodes_listed({make_node("n1", 2, 40960)});
  EXPECT_TRUE(fresh.is_ready());
  EXPECT_EQ(rebuilt.find("uid-a")->holding->reservation,
            ledger.find("uid-a")->holding->reservation);
  EXPECT_EQ(rebuilt.snapshot()->nodes[0]->gpus[0].used_compute, base::MilliGpu{250});
  EXPECT_EQ(metrics.problems["reservation"], 1) << "the edit is reported, and that is all";
}

TEST_F(ReconcilerTest, ATerminatingPodHoldsUntilItIsGone) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  model::PodFacts shown = bound(pod, api.bindings.front());
  shown.terminating = true;
  reconciler.pod_changed(shown);
  EXPECT_EQ(used("n1", 0), 500);
  shown.finished = true;
  reconciler.pod_changed(shown);
  EXPECT_EQ(used("n1", 0), 0);
}

TEST_F(ReconcilerTest, APodBoundByHandIsCounted) {
  start();
  model::NodeFacts node = make_node("n1", 2, 40960);
  node.allocatable["nvidia.com/gpu"] = "2";
  node.capacity["nvidia.com/gpu"] = "2";
  list({node});
  model::PodFacts pod = by_kubelet("hand", "1");
  pod.node_name = "n1";
  reconciler.pod_changed(pod);
  const model::SnapshotPtr snapshot = ledger.snapshot();
  EXPECT_EQ(snapshot->nodes[0]->kubelet_used.at("nvidia.com/gpu"), 1);
  EXPECT_EQ(snapshot->nodes[0]->annotated_refusal, model::ReasonCode::kOtherKind);
  EXPECT_TRUE(api.notices.empty());
}

TEST_F(ReconcilerTest, AnAnnotatedPodBoundByHandClosesTheNodeAndIsReportedOnce) {
  start();
  list({make_node("n1", 2, 40960)});
  model::PodFacts pod = make_pod("hand", {{"gpu-fraction", "0.5"}});
  pod.node_name = "n1";
  reconciler.pod_changed(pod);
  reconciler.pod_changed(pod);
  EXPECT_EQ(ledger.snapshot()->nodes[0]->annotated_refusal, model::ReasonCode::kNodeClosed);
  EXPECT_EQ(api.notices.size(), 1U);
  reconciler.pod_gone(pod);
  EXPECT_EQ(ledger.snapshot()->nodes[0]->annotated_refusal, model::ReasonCode::kNone);
}

constexpr const char* kHalf = R"({"version":1,"uid":"uid-a","node":"n1","containers":[
    {"name":"main","request":"gpu-fraction=0.5","devices":[{"index":0,"uuid":"GPU-n1-0",
    "mode":"time-slicing","memoryMiB":20480,"computeMilli":500}]}]})";

class AddedReservationTest : public ReconcilerTest, public ::testing::WithParamInterface<bool> {};

TEST_P(AddedReservationTest, OfAPodBoundWithoutGpusIsCountedAndReported) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = make_pod("a", {});
  pod.node_name = "n1";
  reconciler.pod_changed(pod);
  ASSERT_TRUE(api.notices.empty());
  pod.annotations = {{"gpu-fraction", "0.5"}, {"snug.dev/reservation", kHalf}};
  if (GetParam()) {
    reconciler.pod_list_started();
    reconciler.pods_listed({pod});
  }
  reconciler.pod_changed(pod);
  reconciler.pod_changed(pod);
  EXPECT_EQ(used("n1", 0), 500) << "as a restart would count it";
  ASSERT_EQ(api.notices.size(), 1U);
  EXPECT_EQ(api.notices.front().note,
            "its reservation was added after the pod was bound without a GPU; the reservation "
            "counts, as it would after a restart");
  EXPECT_EQ(metrics.problems["reservation"], 1);
  reconciler.pod_gone(pod);
  EXPECT_EQ(used("n1", 0), 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, AddedReservationTest, ::testing::Values(false, true),
                         [](const auto& row) { return row.param ? "listed" : "watched"; });

TEST_F(ReconcilerTest, ARequestAddedToAPodBoundWithoutGpusClosesItsNodeAndIsReported) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = make_pod("a", {});
  pod.node_name = "n1";
  reconciler.pod_changed(pod);
  pod.annotations["gpu-fraction"] = "0.5";
  reconciler.pod_changed(pod);
  EXPECT_EQ(ledger.snapshot()->nodes[0]->annotated_refusal, model::ReasonCode::kNodeClosed);
  ASSERT_EQ(api.notices.size(), 1U);
  EXPECT_NE(api.notices.front().note.find("bound without a reservation"), std::string::npos);
  pod.annotations.erase("gpu-fraction");
  reconciler.pod_changed(pod);
  EXPECT_EQ(ledger.snapshot()->nodes[0]->annotated_refusal, model::ReasonCode::kNone);
}

struct ForgeryRow {
  const char* name;
  const char* reservation;
};

class ForgeryTest : public ServiceTest, public ::testing::WithParamInterface<ForgeryRow> {};

TEST_P(ForgeryTest, AReservationOfAnotherPodOrNodeIsIgnoredAndReported) {
  start();
  list({make_node("n1", 1, 40960)});
  model::PodFacts pod = make_pod("a", {{"snug.dev/reservation", GetParam().reservation}});
  pod.node_name = "n1";
  reconciler.pod_changed(pod);
  EXPECT_EQ(used("n1", 0), 0);
  EXPECT_EQ(metrics.problems["reservation"], 1);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, ForgeryTest,
    ::testing::Values(
        ForgeryRow{"pod", R"({"version":1,"uid":"uid-b","node":"n1","containers":[{"name":"main",
            "request":"gpu-fraction=0.5","devices":[{"index":0,"uuid":"GPU-n1-0",
            "mode":"time-slicing","memoryMiB":20480,"computeMilli":500}]}]})"},
        ForgeryRow{"node", R"({"version":1,"uid":"uid-a","node":"n2","containers":[{"name":"main",
            "request":"gpu-fraction=0.5","devices":[{"index":0,"uuid":"GPU-n1-0",
            "mode":"time-slicing","memoryMiB":20480,"computeMilli":500}]}]})"},
        ForgeryRow{"json", "{"}),
    [](const auto& row) { return row.param.name; });

struct SuspectRow {
  const char* name;
  const char* request;
  const char* device;  // the last of its object's members
  std::int64_t milli;
  std::int64_t mebibytes;
  int reservation_problems;  // told of the pod by itself, before any GPU is looked at
};

class SuspectTest : public ServiceTest, public ::testing::WithParamInterface<SuspectRow> {};

TEST_P(SuspectTest, AReservationThatDisagreesIsCountedAndClosesItsGpuAndIsReported) {
  start();
  list({make_node("n1", 2, 40960)});
  model::PodFacts pod = make_pod(
      "a",
      {{"snug.dev/reservation",
        std::string(R"({"version":1,"uid":"uid-a","node":"n1","containers":[{"name":"main",)") +
            R"("request":")" + GetParam().request + R"(","devices":[{"index":0,)" +
            R"("uuid":"GPU-n1-0",)" + GetParam().device + "}]}]}"}});
  pod.node_name = "n1";
  const std::string request = GetParam().request;
  if (request.starts_with("gpu-")) {
    pod.annotations[request.substr(0, request.find('='))] = request.substr(request.find('=') + 1);
  }
  reconciler.pod_changed(pod);
  reconciler.tick();
  const model::SnapshotPtr snapshot = ledger.snapshot();
  const model::GpuState& gpu = snapshot->nodes[0]->gpus[0];
  EXPECT_EQ(gpu.used_compute.value, GetParam().milli);
  EXPECT_EQ(gpu.used_memory.value, GetParam().mebibytes);
  EXPECT_EQ(gpu.closure, model::GpuClosure::kSuspect);
  EXPECT_EQ(snapshot->nodes[0]->gpus[1].closure, model::GpuClosure::kOpen);
  EXPECT_EQ(metrics.problems["reservation"], GetParam().reservation_problems);
  EXPECT_EQ(metrics.problems["gpu_closed"], 1);
  EXPECT_FALSE(api.notices.empty());
  reconciler.pod_gone(pod);
  EXPECT_EQ(ledger.snapshot()->nodes[0]->gpus[0].closure, model::GpuClosure::kOpen);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SuspectTest,
    ::testing::Values(
        SuspectRow{"memory", "gpu-fraction=0.5",
                   R"("mode":"time-slicing","memoryMiB":1,"computeMilli":500)", 500, 20480, 0},
        SuspectRow{"compute", "gpu-memory=4096",
                   R"("mode":"time-slicing","memoryMiB":4096,"computeMilli":1)", 100, 4096, 0},
        SuspectRow{"mode", "gpu-fraction=0.5",
                   R"("mode":"mps","memoryMiB":20480,"computeMilli":500)", 500, 20480, 0},
        SuspectRow{"kind", "nvidia.com/gpu=1",
                   R"("mode":"time-slicing","memoryMiB":1,"computeMilli":1)", 1, 1, 1},
        SuspectRow{"unknown", "gpu-later=1",
                   R"("mode":"time-slicing","memoryMiB":1,"computeMilli":1)", 1, 1, 1}),
    [](const auto& row) { return row.param.name; });

TEST_F(ReconcilerTest, AnInventoryThatDriftsALittleClosesNothing) {
  start();
  list({make_node("n1", 2, 40960)});
  for (const auto& [name, value] : {std::pair{"a", "0.5"}, {"b", "0.25"}, {"c", "1"}}) {
    const model::PodFacts pod = arrive(name, {{"gpu-fraction", value}});
    ASSERT_EQ(bind(pod, "n1"), "");
    reconciler.pod_changed(bound(pod, api.bindings.back()));
  }
  for (const int mebibytes : {40950, 40970, 40960}) {
    reconciler.node_changed(make_node("n1", 2, mebibytes));
    reconciler.tick();
    for (const model::GpuState& gpu : ledger.snapshot()->nodes[0]->gpus) {
      EXPECT_EQ(gpu.closure, model::GpuClosure::kOpen) << mebibytes;
    }
  }
  EXPECT_TRUE(metrics.problems.empty());
}

TEST_F(ReconcilerTest, AnEditedReservationChangesNothingAndIsReported) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  model::PodFacts shown = bound(pod, api.bindings.front());
  shown.annotations["snug.dev/reservation"] = "";
  reconciler.pod_changed(shown);
  EXPECT_EQ(used("n1", 0), 500);
  EXPECT_EQ(metrics.problems["reservation"], 1);
}

TEST_F(ReconcilerTest, AnOverCommitmentThatEventsRevealClosesTheGpuAndIsReported) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.75"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  reconciler.node_changed(make_node("n1", 1, 16384));
  reconciler.tick();
  EXPECT_EQ(ledger.snapshot()->nodes[0]->gpus[0].closure, model::GpuClosure::kOverCommitted);
  EXPECT_EQ(used("n1", 0), 750);
  EXPECT_EQ(metrics.problems["over_commitment"], 1);
  ASSERT_EQ(api.notices.size(), 1U);
  EXPECT_EQ(api.notices[0].reason, "GpuOverCommitted");
  EXPECT_EQ(api.notices[0].name, "a");
  reconciler.tick();
  reconciler.node_changed(make_node("n1", 1, 16000));
  reconciler.tick();
  EXPECT_EQ(metrics.problems["over_commitment"], 1) << "said once while it lasts";
}

TEST_F(ReconcilerTest, KindsThatMeetOnANodeAreReportedOnEveryHolder) {
  start();
  model::NodeFacts node = make_node("n1", 2, 40960);
  node.allocatable["nvidia.com/gpu"] = "2";
  node.capacity["nvidia.com/gpu"] = "2";
  list({node});
  const model::PodFacts share = arrive("share", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(share, "n1"), "");
  model::PodFacts hand = by_kubelet("hand", "1");
  hand.node_name = "n1";
  reconciler.pod_changed(hand);
  reconciler.tick();
  reconciler.tick();
  EXPECT_EQ(metrics.problems["over_commitment"], 1);
  ASSERT_EQ(api.notices.size(), 2U);
  for (const model::Notice& notice : api.notices) {
    EXPECT_EQ(notice.reason, "GpuOverCommitted");
    EXPECT_EQ(notice.note,
              "node n1: annotated and kubelet-assigned pods run on it, and may use the same GPU");
  }
  reconciler.pod_gone(hand);
  reconciler.tick();
  reconciler.pod_changed(hand = [&] {
    model::PodFacts again = hand;
    again.uid += "-2";
    return again;
  }());
  reconciler.tick();
  EXPECT_EQ(metrics.problems["over_commitment"], 2) << "it ended, and began again";
}

TEST_F(ReconcilerTest, AnEditThatOnlyARelistShowsIsReported) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  ASSERT_EQ(bind(pod, "n1"), "");
  model::PodFacts shown = bound(pod, api.bindings.front());
  std::string& text = shown.annotations["snug.dev/reservation"];
  text.replace(text.find("GPU-n1-0"), 8, "GPU-n1-9");
  reconciler.pod_list_started();
  reconciler.pods_listed({shown});
  EXPECT_EQ(used("n1", 0), 500);
  EXPECT_EQ(metrics.problems["reservation"], 1);
}

TEST_F(ReconcilerTest, ANodeThatComesBackAsBadAsItWentIsSaidAgain) {
  model::NodeFacts bad = make_node("n1", 1, 40960);
  bad.annotations["snug.dev/inventory"] = "{";
  reconciler.nodes_listed({bad});
  reconciler.nodes_listed({bad});
  EXPECT_EQ(metrics.problems["node_closed"], 1);
  reconciler.nodes_listed({});
  reconciler.nodes_listed({bad});
  EXPECT_EQ(metrics.problems["node_closed"], 2);
}

TEST_F(ReconcilerTest, ALayoutThatIsBeingChangedIsNoProblem) {
  model::NodeFacts node = make_node("n1", 1, 40960);
  node.labels["nvidia.com/mig.config.state"] = "pending";
  reconciler.nodes_listed({node});
  EXPECT_EQ(metrics.problems["node_closed"], 0);
  node.labels = {{"snug.dev/pool", "none"}};
  reconciler.node_changed(node);
  EXPECT_EQ(metrics.problems["node_closed"], 1);
}

TEST_F(ReconcilerTest, ABindThatEndsWhileAListIsUnderWayIsNotForgotten) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.5"}});
  reconciler.pod_list_started();
  ASSERT_EQ(bind(pod, "n1"), "");
  reconciler.pods_listed({pod});  // as it was when the list was taken
  EXPECT_EQ(used("n1", 0), 500);
  reconciler.pod_list_started();
  reconciler.pods_listed({});
  EXPECT_EQ(used("n1", 0), 0);
}

}  // namespace
}  // namespace snug::testing::reconciler_test
