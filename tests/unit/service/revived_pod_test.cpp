// Pods that had ended and run again: their GPUs may have been given to others.
#include <chrono>
#include <string>

#include "unit/service/fixture.hpp"

namespace snug::testing::revived_pod_test {
namespace {

class RevivedPodTest : public ServiceTest {
 protected:
  /// Of two pods that hold 0.6 each of one GPU, one after the other.
  void expect_closed_and_reported() {
    reconciler.tick();
    EXPECT_EQ(used("n1", 0), 1200);
    EXPECT_EQ(ledger.snapshot()->nodes[0]->gpus[0].closure, model::GpuClosure::kOverCommitted);
    EXPECT_EQ(metrics.problems["over_commitment"], 1);
    ASSERT_EQ(api.notices.size(), 2U);
    for (const model::Notice& notice : api.notices) EXPECT_EQ(notice.reason, "GpuOverCommitted");
  }
  model::PodFacts bind_and_show(const std::string& name) {
    const model::PodFacts pod = arrive(name, {{"gpu-fraction", "0.6"}});
    EXPECT_EQ(bind(pod, "n1"), "");
    model::PodFacts shown = bound(pod, api.bindings.back());
    api.pods["default/" + name] = shown;
    return shown;
  }
};

TEST_F(RevivedPodTest, APhaseThatGoesFromFailedToRunningClosesAGpuThatAnotherWasGiven) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts first = bind_and_show("a");
  reconciler.pod_changed(first);
  reconciler.pod_gone(first);  // the field selector shows Failed as a deletion
  EXPECT_EQ(used("n1", 0), 0);
  reconciler.pod_changed(bind_and_show("b"));
  reconciler.pod_changed(first);
  expect_closed_and_reported();
}

TEST_F(RevivedPodTest, ALateEventThatBringsAPodBackLastsUntilItIsAskedFor) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts first = bind_and_show("a");
  reconciler.pod_changed(first);
  reconciler.pod_gone(first);
  reconciler.pod_changed(first);
  EXPECT_EQ(used("n1", 0), 600);
  api.pods.clear();
  clock.advance(std::chrono::seconds(61));
  reconciler.tick();
  EXPECT_EQ(api.gets, 1);
  EXPECT_EQ(used("n1", 0), 0);
}

TEST_F(RevivedPodTest, AReadThatWronglySaidGoneIsMadeUpForByTheNextList) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts first = bind_and_show("a");
  api.pods.clear();
  clock.advance(std::chrono::seconds(61));
  reconciler.tick();
  EXPECT_EQ(used("n1", 0), 0);
  reconciler.pod_changed(first);
  EXPECT_EQ(used("n1", 0), 0) << "the event may be older than what was read";
  const model::PodFacts second = bind_and_show("b");
  reconciler.pod_changed(second);
  reconciler.pod_list_started();
  reconciler.pods_listed({first, second});
  expect_closed_and_reported();
}

TEST_F(RevivedPodTest, AnUnboundPodThatALaterListShowsWaitsAgain) {
  start();
  list({make_node("n1", 1, 40960)});
  const model::PodFacts pod = arrive("a", {{"gpu-fraction", "0.6"}});
  reconciler.pod_gone(pod);
  EXPECT_EQ(pending.find("uid-a"), nullptr);
  reconciler.pod_list_started();
  reconciler.pods_listed({pod});
  EXPECT_NE(pending.find("uid-a"), nullptr);
  EXPECT_EQ(bind(pod, "n1"), "");
}

}  // namespace
}  // namespace snug::testing::revived_pod_test
