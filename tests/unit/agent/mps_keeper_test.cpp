// Which MPS daemons the agent asks for, and when it looks at their states.
#include "snug/agent_service/mps_keeper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snug/base/agent_limits.hpp"
#include "snug/codec/reservation_codec.hpp"
#include "support/fake_ports.hpp"
#include "unit/agent/fake_share_ports.hpp"
#include "unit/agent/gpu_node.hpp"

namespace snug::mps_keeper_test {
namespace {

using mps::DaemonPhase;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Uuids = std::vector<std::string>;

class MpsKeeperTest : public ::testing::Test {
 protected:
  MpsKeeperTest() {
    book.set(std::make_shared<agent_service::NodeKnowledge>(agent_service::NodeKnowledge{
        agent::testing::three_gpus(), agent::testing::driver_files()}));
  }

  static model::Reservation reservation(const std::string& uid, const std::string& uuid,
                                        model::GpuMode mode = model::GpuMode::kMps) {
    return {.uid = uid,
            .node = "n1",
            .containers = {
                {"main", "gpu-fraction=0.5",
                 std::vector{model::ReservedDevice{
                     .index = 0, .uuid = uuid, .mode = mode, .memory = {100}, .compute = {500}}}}}};
  }
  static agent::PodView pod(const std::string& name, const model::Reservation& reserved) {
    return {.name_space = "ns",
            .name = name,
            .uid = "u-" + name,
            .runtime_uid = "u-" + name,
            .annotations = codec::write_reservation(reserved, "main", {})};
  }
  static agent::PodView pod(const std::string& name, const std::string& uuid) {
    return pod(name, reservation("u-" + name, uuid));
  }
  void list(std::vector<agent::PodView> shown) {
    pods.pods_listed(std::move(shown));
    pods.stream_alive();
  }
  void hold(const std::vector<model::Reservation>& reservations) {
    agent_service::SandboxBook::ReservationsBySandbox running;
    for (const model::Reservation& held : reservations) running.emplace("s-" + held.uid, held);
    sandboxes.sandboxes_listed(std::move(running));
  }
  bool tick_after(std::int64_t ms) {
    now += milliseconds(ms);
    return keeper.tick(now);
  }
  /// The next look at pods.
  bool check() { return tick_after(base::agent_limits::mps_look_ms); }

  base::TimePoint now;
  FakeLog log;
  FakeMpsPort port;
  agent_service::PodBook pods;
  agent_service::NodeBook book;
  agent_service::SandboxBook sandboxes;
  agent_service::MpsKeeper keeper{{port, pods, book, sandboxes, log}, {"n1", {}}};
};

TEST_F(MpsKeeperTest, NothingIsAskedForBeforePodsAndSandboxesAreKnown) {
  check();
  list({pod("a", "GPU-a")});
  check();
  hold({});
  pods.stream_lost();
  check();
  EXPECT_THAT(port.take(), IsEmpty());
  EXPECT_EQ(port.looks, 0);
  pods.stream_alive();
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{"GPU-a"}));
}

TEST_F(MpsKeeperTest, TheReservationsOfLivingPodsAndOfRunningSandboxesCount) {
  agent::PodView finished = pod("finished", "GPU-1");
  finished.finished = true;
  agent::PodView terminating = pod("terminating", "GPU-2");
  terminating.terminating = true;
  agent::PodView unreadable = pod("unreadable", "GPU-3");
  unreadable.annotations["snug.dev/reservation"] = "{";
  agent::PodView copied = pod("copied", reservation("u-another", "GPU-4"));
  model::Reservation elsewhere = reservation("u-elsewhere", "GPU-5");
  elsewhere.node = "n2";
  agent::PodView fixed = pod("fixed", "GPU-6");
  fixed.runtime_uid = "u-kubelet";
  list({finished, terminating, unreadable, copied, fixed, pod("elsewhere", elsewhere),
        pod("sliced", reservation("u-sliced", "GPU-6", model::GpuMode::kTimeSlicing)),
        pod("by-index", ""), pod("unreported", "GPU-7"), pod("path", "GPU-../../x"),
        pod("other", "MIG-7"), pod("short", "GPU-"), pod("long", "GPU-" + std::string(37, 'a'))});
  hold({reservation("u-gone", "GPU-8"), reservation("u-gone-2", "GPU-9", model::GpuMode::kWhole)});
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{"GPU-2", "GPU-7", "GPU-8", "GPU-a"}));
}

TEST_F(MpsKeeperTest, DaemonsAreAskedForOnAChangeAndAgainEachMinute) {
  hold({});
  list({});
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{})) << "those of an earlier agent are given up";
  check();
  EXPECT_THAT(port.take(), IsEmpty());
  pods.pod_changed(pod("a", "GPU-a"));
  tick_after(base::agent_limits::mps_look_ms - 1);
  EXPECT_THAT(port.take(), IsEmpty());
  tick_after(1);
  EXPECT_THAT(port.take(), ElementsAre(Uuids{"GPU-a"}));
  tick_after(base::agent_limits::mps_rewrite_ms - 1);
  EXPECT_THAT(port.take(), IsEmpty());
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{"GPU-a"}));
  // The same pod gets another reservation only by being another pod; its text is read anew.
  agent::PodView changed = pod("a", "GPU-b");
  pods.pod_changed(changed);
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{"GPU-b"}));
  hold({reservation("u-a", "GPU-b")});
  pods.pod_gone(changed);
  check();
  EXPECT_THAT(port.take(), IsEmpty()) << "the sandbox still runs";
  hold({});
  check();
  EXPECT_THAT(port.take(), ElementsAre(Uuids{}));
}

TEST_F(MpsKeeperTest, EachContainerGetsANamespaceWithItsLimits) {
  agent_service::MpsKeeper limiting{
      {port, pods, book, sandboxes, log},
      {.node = "n1", .limits = {}, .enforcer = model::ShareLimits::kMps}};
  model::Reservation two = reservation("u-two", "GPU-a");
  two.containers.push_back(two.containers.front());
  two.containers.back().name = "side";
  hold({reservation("u-gone", "GPU-a")});
  list({pod("two", two), pod("other", "GPU-b")});
  limiting.tick(now);
  const auto name = mps::namespace_of;
  const mps::NamespaceLimits limits{{100}, 50};
  EXPECT_EQ(port.last, (mps::WantedDaemons{{"GPU-a",
                                            {{name("u-two", "main"), limits},
                                             {name("u-two", "side"), limits},
                                             {name("u-gone", "main"), limits}}},
                                           {"GPU-b", {{name("u-other", "main"), limits}}}}));
  check();
  EXPECT_EQ(port.last.at("GPU-b").begin()->second, std::nullopt) << "--limits is not mps";
}

TEST_F(MpsKeeperTest, StatesAreReadOftenUntilTheNamespacesAreThere) {
  hold({});
  list({pod("a", "GPU-a")});
  const std::string own = mps::namespace_of("u-a", "main");
  port.states = {{"GPU-a", {DaemonPhase::kReady, "", {{}}}}};
  check();
  EXPECT_FALSE(check());
  EXPECT_EQ(port.looks, 2);
  port.states = {{"GPU-a", {DaemonPhase::kReady, "", {{{own, "no room"}}}}}};
  EXPECT_TRUE(check());
  port.states = {{"GPU-a", {DaemonPhase::kReady, "", {{{own, ""}}}}}};
  EXPECT_TRUE(check());
  check();
  EXPECT_EQ(port.looks, 4);
  pods.pod_changed(pod("b", "GPU-a"));
  check();
  EXPECT_EQ(port.looks, 5) << "another namespace is needed";
}

TEST_F(MpsKeeperTest, StatesAreReadOftenOnlyWhileADaemonIsNotReady) {
  hold({});
  list({pod("a", "GPU-a")});
  EXPECT_FALSE(check()) << "no states are known, as before";
  EXPECT_EQ(port.looks, 1);
  port.states = {{"GPU-a", {DaemonPhase::kStarting, ""}}};
  EXPECT_TRUE(check());
  EXPECT_FALSE(check());
  EXPECT_EQ(port.looks, 3);
  EXPECT_EQ(keeper.daemons()->states.at("GPU-a").phase, DaemonPhase::kStarting);
  port.states = {{"GPU-a", {DaemonPhase::kReady, ""}}};
  EXPECT_TRUE(check());
  EXPECT_EQ(port.looks, 4);
  check();
  EXPECT_EQ(port.looks, 4);
  tick_after(base::agent_limits::mps_recheck_ms);
  EXPECT_EQ(port.looks, 5);
  pods.pod_changed(pod("b", "GPU-b"));
  check();
  EXPECT_EQ(port.looks, 6) << "another daemon is needed";
  list({});
  EXPECT_TRUE(check()) << "the states no longer count";
  tick_after(base::agent_limits::mps_recheck_ms);
  EXPECT_EQ(port.looks, 6) << "no daemon is needed";
}

TEST_F(MpsKeeperTest, AFailureStandsUntilTheDaemonIsReadyOrNotNeeded) {
  hold({});
  list({pod("a", "GPU-a")});
  port.states = {{"GPU-a", {DaemonPhase::kFailed, std::string(300, 'x')}},
                 {"GPU-b", {DaemonPhase::kFailed, "not needed"}}};
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", std::string(256, 'x'))));
  EXPECT_EQ(keeper.daemons()->states.size(), 1U) << "one that is not needed may be stopping";
  port.states["GPU-a"] = {DaemonPhase::kFailed, "no memory"};
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", "no memory")));
  port.states["GPU-a"] = {DaemonPhase::kStarting, ""};
  EXPECT_TRUE(check()) << "the sentence for containers changes";
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", "no memory")));
  port.states["GPU-a"] = {DaemonPhase::kReady, ""};
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), IsEmpty());
  port.states["GPU-a"] = {DaemonPhase::kFailed, "again"};
  EXPECT_TRUE(tick_after(base::agent_limits::mps_recheck_ms));
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", "again")));
  list({});
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), IsEmpty());
}

TEST_F(MpsKeeperTest, WithoutSnugMpsTheDaemonHasFailedUntilAStateComes) {
  constexpr std::int64_t kStale = base::agent_limits::mps_state_stale_ms;
  hold({});
  list({pod("a", "GPU-a")});
  check();
  tick_after(kStale - 1);
  EXPECT_THAT(keeper.failures(), IsEmpty());
  pods.pod_changed(pod("b", "GPU-b"));
  EXPECT_TRUE(check());
  const std::string reason = "snug-mps does not run on this node";
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", reason)))
      << "GPU-b is asked for since now";
  EXPECT_FALSE(check());
  port.states = {{"GPU-b", {DaemonPhase::kReady, ""}}};
  EXPECT_TRUE(check());
  tick_after(kStale);
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", reason)));
  port.states["GPU-a"] = {DaemonPhase::kStarting, ""};
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), IsEmpty());
  port.states.clear();
  check();
  tick_after(kStale - 1);
  EXPECT_THAT(keeper.failures(), IsEmpty()) << "the time counts from the last state";
  tick_after(base::agent_limits::mps_look_ms);
  EXPECT_THAT(keeper.failures(), ElementsAre(Pair("GPU-a", reason), Pair("GPU-b", reason)));
  list({});
  EXPECT_TRUE(check());
  EXPECT_THAT(keeper.failures(), IsEmpty());
}

TEST_F(MpsKeeperTest, WithoutTheModeTheDaemonsOfAnEarlierAgentAreGivenUpOnce) {
  agent_service::MpsKeeper forbidden{{port, pods, book, sandboxes, log},
                                     {.node = "n1", .allowed = false}};
  port.error = base::Error{base::ErrorCode::kUnavailable, "no folder"};
  EXPECT_FALSE(forbidden.tick(now));
  EXPECT_THAT(port.take(), ElementsAre(Uuids{})) << "also before pods and sandboxes are known";
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("cannot be asked")));
  hold({reservation("u-held", "GPU-b")});
  list({pod("a", "GPU-a")});
  EXPECT_FALSE(forbidden.tick(now + milliseconds(base::agent_limits::mps_rewrite_ms)));
  EXPECT_THAT(port.take(), IsEmpty());
  EXPECT_EQ(port.looks, 0);
  EXPECT_THAT(log.take(), IsEmpty());
}

TEST_F(MpsKeeperTest, WhatThePortRefusesIsLoggedOnceAndTriedAgain) {
  hold({});
  list({pod("a", "GPU-a")});
  port.error = base::Error{base::ErrorCode::kUnavailable, "no folder"};
  EXPECT_TRUE(check());
  EXPECT_FALSE(check());
  EXPECT_EQ(port.take().size(), 2U);
  EXPECT_EQ(keeper.daemons()->problem, "no folder");
  EXPECT_THAT(log.take(), ElementsAre(HasSubstr("cannot be asked"), HasSubstr("cannot be read")));
  port.error.reset();
  port.states = {{"GPU-a", {DaemonPhase::kReady, ""}}};
  EXPECT_TRUE(check());
  EXPECT_EQ(keeper.daemons()->problem, "");
  check();
  EXPECT_EQ(port.take().size(), 1U);
}

}  // namespace
}  // namespace snug::mps_keeper_test
