// What makes the reserved slices of a node: when it acts, what it reports, and that no container
// gets a slice that is being destroyed.
#include "snug/agent_service/slice_keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/agent/slice_node.hpp"

namespace snug::slice_keeper_test {
namespace {

using agent::testing::Case;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const base::Error kInUse{base::ErrorCode::kConflict, "a process uses it"};
const base::Error kBroken{base::ErrorCode::kUnknown, "the driver said no"};

TEST(SliceKeeperTest, TheReservedSlicesOfAPodAreMadeOneByOne) {
  SliceNode node;
  EXPECT_THAT(node.settle(), IsEmpty());
  node.bind("a", "3g.20gb", 0);
  node.bind("b", "1g.5gb", 6);
  EXPECT_THAT(node.settle(),
              ElementsAre("destroy 7", "destroy 3", "create 3g.20gb 0", "create 1g.5gb 6"));
  EXPECT_EQ(node.label.reads, 2) << "the mig-manager is looked at before each task";
  EXPECT_THAT(node.sentences(), IsEmpty());
  EXPECT_THAT(node.metrics.take(), Contains("created").Times(2));
  node.guard.connected({"containerd", "v2.4.2"});
  EXPECT_THAT(node.create_container(SliceNode::pod_with("b", "1g.5gb", 6)).error().message,
              HasSubstr("no capability"))
      << "the slice is found, although the files of the host are those of before";
}

TEST(SliceKeeperTest, NothingIsDoneWhileNothingChanges) {
  SliceNode node;
  node.settle();
  node.metrics.take();
  node.read_devices();
  EXPECT_THAT(node.settle_after(minutes(600)), IsEmpty());
  EXPECT_THAT(node.metrics.take(), IsEmpty()) << "no plan was made";
  EXPECT_EQ(node.label.reads, 0);
  node.card().mig_slices.pop_back();
  node.read_devices();
  node.settle();
  EXPECT_THAT(node.metrics.take(), ElementsAre("slices 1 0"));
}

TEST(SliceKeeperTest, OnlyReservationsOfLivingPodsOfThisNodeCount) {
  SliceNode node;
  agent::PodView finished = *SliceNode::pod_with("finished", "1g.5gb", 4).pod;
  finished.finished = true;
  agent::PodView fixed = *SliceNode::pod_with("static", "1g.5gb", 4).pod;
  fixed.runtime_uid = "u-kubelet";
  agent::PodView copied = *SliceNode::pod_with("copied", "1g.5gb", 4).pod;
  copied.uid = copied.runtime_uid = "u-other";
  agent::PodView elsewhere = *SliceNode::pod_with("elsewhere", "1g.5gb", 4).pod;
  std::string& text = elsewhere.annotations["snug.dev/reservation"];
  text.replace(text.find("n1"), 2, "n2");
  agent::PodView unreadable = *SliceNode::pod_with("unreadable", "1g.5gb", 4).pod;
  unreadable.annotations["snug.dev/reservation"] = "{";
  agent::PodView ending = *SliceNode::pod_with("ending", "1g.5gb", 5).pod;
  ending.terminating = true;
  node.pods.pods_listed({finished, fixed, copied, elsewhere, unreadable, ending});
  EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 5"));
}

TEST(SliceKeeperTest, NothingIsDoneWhileThePodsAreNotKnown) {
  SliceNode node;
  node.bind("a", "1g.5gb", 4);
  node.pods.stream_lost();
  EXPECT_THAT(node.settle(), IsEmpty());
  node.pods.stream_alive();
  EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 4"));
}

TEST(SliceKeeperTest, NothingIsDestroyedThatSomethingUnseenCanUse) {
  const auto with_container = [](const agent::PodContainerView& container) {
    return agent::PodView{
        .name_space = "ns", .name = "other", .uid = "u", .containers = {container}};
  };
  for (const agent::PodView& other :
       {with_container({.kubelet_assigned = true}), with_container({.has_claims = true})}) {
    SliceNode node;
    node.pods.pod_changed(other);
    node.bind("a", "2g.10gb", 0);
    node.bind("b", "1g.5gb", 6);
    EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 6"));
    EXPECT_THAT(node.sentences(), ElementsAre(HasSubstr("the pod ns/other has devices from the")));
    agent::PodView done = other;
    done.finished = true;
    node.pods.pod_changed(done);
    EXPECT_THAT(node.settle(), ElementsAre("destroy 7", "create 2g.10gb 0"));
  }
}

TEST(SliceKeeperTest, NothingIsDestroyedBeforeTheRuntimeHasListedWhatRuns) {
  SliceNode node;
  agent_service::SandboxBook fresh;
  agent_service::SliceTroubleBook troubles;
  agent_service::SliceKeeper keeper(
      {node.slices, node.label, node.pods, node.node_book, fresh, troubles, node.metrics, node.log},
      {.node = "n1"}, [](const agent::PodView&, const agent::SliceFailure&) {});
  node.bind("a", "2g.10gb", 0);
  EXPECT_FALSE(keeper.tick(node.clock.now()));
  EXPECT_THAT(troubles.get()->all[0].sentence, HasSubstr("has not listed its pods yet"));
  fresh.sandboxes_listed({});
  EXPECT_TRUE(keeper.tick(node.clock.now()));
}

TEST(SliceKeeperTest, ASliceOfAPodThatIsGoneStaysUntilItsSandboxStops) {
  SliceNode node;
  Case gone = SliceNode::pod_with("gone", "1g.5gb", 0);
  node.guard.connected({"containerd", "v2.4.2"});
  node.guard.synchronized(
      {gone.sandbox}, {{.sandbox_id = gone.sandbox.id, .state = agent::ContainerState::kRunning}});
  node.bind("a", "2g.10gb", 0);
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_THAT(node.sentences(), ElementsAre(HasSubstr("which a pod that has ended or is ending")));
  node.guard.sandbox_stopped(gone.sandbox);
  EXPECT_THAT(node.settle(), ElementsAre("destroy 7", "create 2g.10gb 0"));
  EXPECT_THAT(node.sentences(), IsEmpty());
}

TEST(SliceKeeperTest, ASandboxWhoseContainersHaveEndedHoldsNothing) {
  SliceNode node;
  const Case ended = SliceNode::pod_with("ended", "1g.5gb", 0);
  const Case other = SliceNode::pod_with("other", "1g.5gb", 0);
  Case forged = SliceNode::pod_with("forged", "1g.5gb", 0);
  forged.sandbox.uid = "u-else";
  const auto container = [](const Case& c, agent::ContainerState state) {
    return agent::ContainerView{.sandbox_id = c.sandbox.id, .state = state};
  };
  using enum agent::ContainerState;
  node.guard.synchronized({ended.sandbox, other.sandbox, forged.sandbox},
                          {container(ended, kStopped), container(forged, kRunning)});
  EXPECT_THAT(node.sandboxes.held(), IsEmpty());
  node.guard.synchronized({ended.sandbox, other.sandbox},
                          {container(ended, kStopped), container(ended, kCreated)});
  EXPECT_THAT(node.sandboxes.held(), SizeIs(1));
}

TEST(SliceKeeperTest, WhileTheMigManagerIsAtWorkNothingIsChanged) {
  SliceNode node;
  node.bind("a", "1g.5gb", 4);
  node.label.state = "pending";
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_THAT(node.sentences(), ElementsAre("NVIDIA's mig-manager is at work: the node's label "
                                            "nvidia.com/mig.config.state is \"pending\""));
  EXPECT_EQ(node.failed(), 0U);
  node.settle_after(milliseconds(4999));
  EXPECT_EQ(node.label.reads, 1);
  node.label.error = base::Error{base::ErrorCode::kUnavailable, "no route"};
  EXPECT_THAT(node.settle_after(milliseconds(1)), IsEmpty());
  EXPECT_THAT(node.sentences(), ElementsAre(HasSubstr("is unknown: no route")));
  EXPECT_EQ(node.label.reads, 2);
  node.label.error.reset();
  node.label.state = "success";
  EXPECT_THAT(node.settle_after(seconds(5)), ElementsAre("create 1g.5gb 4"));
  EXPECT_THAT(node.sentences(), IsEmpty());
}

TEST(SliceKeeperTest, AFailureIsReportedOnceAndTriedAgainLaterAndLater) {
  SliceNode node;
  node.slices.create_error = kBroken;
  node.bind("a", "1g.5gb", 4);
  EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 4"));
  EXPECT_THAT(node.troubles.get()->failed,
              ElementsAre(agent::SliceFailure{"GPU-m", "1g.5gb", 4, "u-a", kBroken.message}));
  for (const auto& wait :
       {seconds(2), seconds(4), seconds(8), seconds(16), seconds(32), seconds(60), seconds(60)}) {
    EXPECT_THAT(node.settle_after(wait - milliseconds(1)), IsEmpty());
    EXPECT_THAT(node.settle_after(milliseconds(1)), SizeIs(1)) << wait.count();
  }
  EXPECT_THAT(node.events, ElementsAre("a: the driver said no"));
  EXPECT_THAT(node.log.warnings, ElementsAre("a reserved MIG slice cannot be made"));
  EXPECT_THAT(node.metrics.take(), Contains("not created").Times(8));
  node.slices.create_error->message = "another reason";
  node.settle_after(seconds(60));
  EXPECT_THAT(node.events, SizeIs(2));
  node.slices.create_error.reset();
  EXPECT_THAT(node.settle_after(seconds(60)), ElementsAre("create 1g.5gb 4"));
  EXPECT_EQ(node.failed(), 0U);
  EXPECT_EQ(node.metrics.take().back(), "slices 2 0");
}

TEST(SliceKeeperTest, AFailureEndsWithItsPodAndDelaysNoOther) {
  SliceNode node;
  node.slices.create_error = kBroken;
  const agent::PodView pod = node.bind("a", "1g.5gb", 4);
  node.settle();
  node.slices.create_error.reset();
  node.bind("b", "1g.5gb", 5);
  EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 5"));
  EXPECT_EQ(node.failed(), 1U);
  node.pods.pod_gone(pod);
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_EQ(node.failed(), 0U);
  node.bind("c", "1g.5gb", 4);
  EXPECT_THAT(node.settle(), ElementsAre("create 1g.5gb 4")) << "another pod does not wait";
}

TEST(SliceKeeperTest, WhatCannotBeReservedFailsAtOnce) {
  SliceNode node;
  node.bind("a", "2g.10gb", 1);
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_THAT(node.events, ElementsAre("a: a slice of this profile cannot start at 1"));
  EXPECT_EQ(node.failed(), 1U);
}

TEST(SliceKeeperTest, WhatAProcessUsesStaysAndCountsAsFailureOnlyAfterAWhile) {
  SliceNode node;
  node.slices.destroy_error = kInUse;
  node.bind("a", "2g.10gb", 0);
  EXPECT_THAT(node.settle(), ElementsAre("destroy 7"));
  EXPECT_THAT(node.sentences(), ElementsAre("the slice \"1g.5gb\" at 0 of the GPU \"GPU-m\" is in "
                                            "the way: a process uses it"));
  EXPECT_EQ(node.failed(), 0U);
  EXPECT_THAT(node.settle_after(seconds(2)), ElementsAre("destroy 7"));
  node.clock.advance(seconds(28) - milliseconds(1));
  static_cast<void>(node.settle());
  EXPECT_EQ(node.failed(), 0U);
  static_cast<void>(node.settle_after(milliseconds(1)));
  EXPECT_EQ(node.failed(), 1U);
  EXPECT_THAT(node.events, SizeIs(1));
  node.slices.destroy_error.reset();
  EXPECT_THAT(node.settle_after(seconds(60)), ElementsAre("destroy 7", "create 2g.10gb 0"));
}

TEST(SliceKeeperTest, IdleSlicesStayUntilTheOperatorsTimeHasPassed) {
  SliceNode forever;
  forever.settle();
  EXPECT_THAT(forever.settle_after(minutes(10'000)), IsEmpty());
  SliceNode node(minutes(30));
  node.settle();
  node.clock.advance(minutes(29));
  node.bind("a", "1g.5gb", 0);
  EXPECT_THAT(node.settle(), IsEmpty());
  node.label.state = "pending";
  EXPECT_THAT(node.settle_after(minutes(1)), IsEmpty());
  node.label.state.reset();
  node.slices.destroy_error = kInUse;
  EXPECT_THAT(node.settle_after(seconds(5)), ElementsAre("destroy 3"));
  EXPECT_THAT(node.settle_after(minutes(30) - milliseconds(1)), IsEmpty());
  node.slices.destroy_error.reset();
  EXPECT_THAT(node.settle_after(milliseconds(1)), ElementsAre("destroy 3"));
}

/// The pod `a` is about to lose its idle slice, which `b` needs the place of; `late` gets it.
class InterleavingTest : public ::testing::Test {
 protected:
  InterleavingTest() {
    node.guard.connected({"containerd", "v2.4.2"});
    node.bind("b", "2g.10gb", 0);
  }
  void create_late() {
    if (std::exchange(tried, true)) return;
    got_slice = node.create_container(late).has_value();
  }
  [[nodiscard]] bool is_in_node_book() const {
    const auto slices = node.node_book.get()->devices.gpus[2].mig_slices;
    return std::ranges::find(slices, 7, &agent::MigSliceReport::gpu_instance) != slices.end();
  }

  SliceNode node;
  Case late = SliceNode::pod_with("late", "1g.5gb", 0);
  bool tried = false;
  bool got_slice = false;
};

TEST_F(InterleavingTest, AContainerThatGotTheSliceBeforeItIsTakenOutKeepsIt) {
  node.label.on_read = [this] { create_late(); };  // after the plan, before the execution
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_TRUE(got_slice);
  EXPECT_TRUE(is_in_node_book());
}

TEST_F(InterleavingTest, AContainerThatComesRightAfterIsRefusedAndTheSliceStays) {
  node.log.on_line = [this](std::string_view line) {
    if (!line.contains("out of use")) return;  // between the removal and the second look
    EXPECT_FALSE(is_in_node_book());
    create_late();
  };
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_TRUE(tried);
  EXPECT_FALSE(got_slice);
  EXPECT_TRUE(is_in_node_book());
  EXPECT_TRUE(node.create_container(late)) << "the kubelet's next attempt";
}

TEST_F(InterleavingTest, AContainerThatComesWhileItIsDestroyedIsRefused) {
  node.slices.on_destroy = [this] { create_late(); };
  EXPECT_THAT(node.settle(), ElementsAre("destroy 7", "create 2g.10gb 0"));
  EXPECT_TRUE(tried);
  EXPECT_FALSE(got_slice);
}

TEST_F(InterleavingTest, AContainerThatComesAfterAFailedDestructionGetsIt) {
  node.slices.destroy_error = kInUse;
  node.slices.on_destroy = [this] { EXPECT_FALSE(is_in_node_book()); };
  EXPECT_TRUE(node.keeper.tick(node.clock.now()));
  EXPECT_TRUE(is_in_node_book());
  create_late();
  EXPECT_TRUE(got_slice);
  node.slices.destroy_error = kBroken;
  node.guard.sandbox_stopped(late.sandbox);
  node.clock.advance(seconds(2));
  EXPECT_TRUE(node.keeper.tick(node.clock.now()));
  EXPECT_FALSE(is_in_node_book()) << "it is not known whether it still exists";
}

TEST_F(InterleavingTest, AContainerWhoseCreationIsUnderwayKeepsTheSliceThatItHasFound) {
  node.host.on_write = [this] { EXPECT_THAT(node.settle(), IsEmpty()); };
  create_late();
  EXPECT_TRUE(got_slice);
  EXPECT_TRUE(is_in_node_book());
}

TEST_F(InterleavingTest, APodThatIsBoundMeanwhileKeepsItsSliceEvenBeforeItsSandboxComes) {
  node.log.on_line = [this](std::string_view line) {
    if (line.contains("out of use")) node.pods.pod_changed(*late.pod);
  };
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_TRUE(is_in_node_book());
}

TEST_F(InterleavingTest, ADevicePlugInThatGivesADeviceMeanwhileStopsTheDestruction) {
  node.log.on_line = [this](std::string_view line) {
    if (line.contains("out of use"))
      node.pods.pod_changed({.name = "k", .uid = "k", .containers = {{.kubelet_assigned = true}}});
  };
  EXPECT_THAT(node.settle(), IsEmpty());
  EXPECT_TRUE(is_in_node_book());
}

}  // namespace
}  // namespace snug::slice_keeper_test
