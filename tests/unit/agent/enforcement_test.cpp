// The proof that the container runtime fails closed, and what feeds it.
#include "snug/agent_service/enforcement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/agent/required_plugins.hpp"
#include "support/test_objects.hpp"

namespace snug::enforcement_test {
namespace {

using ::testing::HasSubstr;

/// Applies the events, words of the list below, one after the other.
agent::EnforcementProof after(std::string_view events) {
  agent::EnforcementProof proof;
  for (const std::string& event : split(events, ' ')) {
    if (event == "claimed") proof.claimed();
    if (event == "connected" || event == "reconnected")
      proof.runtime_connected({.validator = true});
    if (event == "connected" || event == "withdrawn") proof.probe_withdrawn();
    if (event == "too-old") proof.runtime_connected({});
    if (event == "gated") proof.runtime_connected({.gate = true});
    if (event == "with-both") proof.runtime_connected({.validator = true, .gate = true});
    if (event == "gate-lost") proof.gate_lost();
    if (event == "lost") proof.runtime_disconnected();
    if (event == "asked") proof.probe_requested();
    if (event == "created") proof.probe_created();
    if (event == "waits") proof.probe_shown(false);
    if (event == "refused") proof.probe_shown(true);
  }
  return proof;
}

struct ProofRow {
  std::string_view events;
  bool fails_closed;
  bool is_settled;
  std::string_view explanation;  // a part
};

constexpr std::string_view kRefuses = "refuses containers whose required plug-in is absent";
constexpr std::string_view kCreated = "created a container whose required plug-in was absent";
constexpr std::string_view kNotAsked = "the runtime has not been asked yet";
constexpr std::string_view kStands = "the proof of an earlier agent stands";
constexpr std::string_view kTooOld = "cannot refuse containers whose plug-in is absent";
constexpr std::string_view kGateEnded = "snug-gate has ended";
constexpr std::string_view kOtherGate = "snug-gate runs but did not refuse";
constexpr std::string_view kLost = "the container runtime is not connected";

void expect_states(const std::vector<ProofRow>& rows) {
  for (const ProofRow& row : rows) {
    SCOPED_TRACE(row.events);
    const agent::EnforcementProof proof = after(row.events);
    EXPECT_EQ(proof.fails_closed(), row.fails_closed);
    EXPECT_EQ(proof.is_settled(), row.is_settled);
    EXPECT_THAT(proof.explanation(), HasSubstr(row.explanation));
  }
}

TEST(EnforcementProofTest, ASecondRequestProvesARefusalThatTheStatusShows) {
  expect_states({
      {"", false, false, kLost},
      {"connected", false, false, kNotAsked},
      {"connected asked", false, false, kNotAsked},
      {"connected asked refused asked", true, true, kRefuses},
      // The creation failed for another reason, such as a full disk.
      {"connected asked asked", false, false, kNotAsked},
      {"connected asked waits asked", false, false, kNotAsked},
      {"connected asked refused waits asked", false, false, kNotAsked},
  });
}

TEST(EnforcementProofTest, ACreationDisprovesARefusalUnlessThePlugInWasThere) {
  expect_states({
      {"connected asked created", false, true, kCreated},
      {"connected asked asked created", false, true, kCreated},
      {"connected asked created asked refused asked", false, true, kCreated},
      {"connected asked refused asked created", false, true, kCreated},
      {"connected asked refused asked asked created", true, true, kRefuses},  // with the plug-in
      {"connected waits asked refused asked created", true, true, kRefuses},
      {"connected created", false, false, kNotAsked},
  });
}

TEST(EnforcementProofTest, AStatusProvesARefusalOnlyIfItChangesAfterARequest) {
  expect_states({
      {"connected waits asked refused", true, true, kRefuses},
      {"connected waits refused asked refused", false, false, kNotAsked},
      {"connected waits refused", false, false, kNotAsked},
      {"connected waits asked waits", false, false, kNotAsked},
      // What is shown first may be older than the request.
      {"connected asked refused", false, false, kNotAsked},
      {"refused connected asked refused created", false, true, kCreated},
      {"connected asked refused waits refused", true, true, kRefuses},
      {"connected waits asked refused lost connected asked refused", true, false, kStands},
      {"connected waits asked refused lost connected asked refused created", false, true, kCreated},
  });
}

TEST(EnforcementProofTest, RequestsCountOnlyWithoutThePlugIn) {
  expect_states({
      {"reconnected asked created", false, false, kNotAsked},
      {"reconnected waits asked refused", false, false, kNotAsked},
      {"reconnected asked withdrawn created", false, false, kNotAsked},
      {"reconnected withdrawn asked created", false, true, kCreated},
      {"reconnected withdrawn waits asked refused", true, true, kRefuses},
      {"withdrawn reconnected waits asked refused", false, false, kNotAsked},
  });
}

TEST(EnforcementProofTest, AClaimStandsUntilItIsDisproved) {
  expect_states({
      {"claimed", true, false, kLost},
      {"claimed connected", true, false, kStands},
      {"claimed connected asked", true, false, kStands},
      {"claimed connected waits asked refused", true, true, kRefuses},
      {"claimed connected asked created", false, true, kCreated},
      {"claimed too-old", false, true, kTooOld},
      {"connected claimed", true, false, kStands},
      {"connected asked created claimed", false, true, kCreated},  // disproved before
      {"too-old claimed", false, true, kTooOld},
  });
}

TEST(EnforcementProofTest, EachConnectionIsProvedAnew) {
  expect_states({
      {"connected waits asked refused lost", true, true, kLost},
      {"connected waits asked refused lost connected", true, false, kStands},
      {"connected asked lost connected waits asked", false, false, kNotAsked},
      {"connected waits asked refused lost connected asked created", false, true, kCreated},
      {"connected waits asked refused lost too-old", false, true, kTooOld},
      {"too-old lost connected waits asked refused", true, true, kRefuses},
  });
}

TEST(EnforcementProofTest, ARuntimeWithAGateIsProvedByTheSameProbe) {
  expect_states({
      {"gated", false, false, kNotAsked},
      {"gated withdrawn waits asked refused", true, true, kRefuses},
      {"gated withdrawn asked created", false, true, kCreated},
      {"gated withdrawn asked created", false, true, kOtherGate},
      {"with-both withdrawn asked created", false, true, kOtherGate},
      {"claimed gated", true, false, kStands},
      {"with-both withdrawn waits asked refused", true, true, kRefuses},
  });
}

TEST(EnforcementProofTest, WhatAGateHasProvedIsVoidWithoutIt) {
  expect_states({
      {"gated withdrawn waits asked refused gate-lost", false, true, kGateEnded},
      {"claimed gated gate-lost", false, true, kGateEnded},
      {"gated gate-lost claimed", false, true, kGateEnded},
      {"gated withdrawn waits asked refused gate-lost lost gated", false, false, kNotAsked},
      {"gated withdrawn waits asked refused lost too-old", false, true, kTooOld},
      // The validator of the runtime may be switched off.
      {"gated withdrawn waits asked refused lost connected", false, false, kNotAsked},
      {"with-both withdrawn waits asked refused lost connected", false, false, kNotAsked},
      {"gated withdrawn waits asked refused lost gated", true, false, kStands},
      // The runtime is asked again whether its validator refuses, too.
      {"with-both withdrawn waits asked refused gate-lost", false, false, kGateEnded},
      {"with-both gate-lost claimed", false, false, kGateEnded},
      {"with-both withdrawn waits asked refused gate-lost asked created", false, false, kGateEnded},
      {"with-both withdrawn waits asked refused gate-lost withdrawn asked created", false, true,
       kGateEnded},
      {"with-both withdrawn waits asked refused gate-lost withdrawn waits asked refused", true,
       true, kRefuses},
      {"connected waits asked refused gate-lost", true, true, kRefuses},  // there was none
      {"gated withdrawn waits asked refused lost gate-lost", true, true, kLost},
  });
}

constexpr agent::RuntimeFeatures kFeatures{.cdi_injection = true, .validation = true};

class EnforcementKeeperTest : public ::testing::Test {
 protected:
  static agent::SandboxView sandbox(const std::string& uid) {
    return {.id = "s-" + uid, .name = "snug-agent-x", .uid = uid, .name_space = "snug"};
  }
  static agent::ContainerView container(const std::string& name) {
    return {.id = "c-" + name, .name = name};
  }
  void ask(const std::string& uid, const std::string& name) {
    keeper.container_requested(sandbox(uid), container(name));
  }
  void create(const std::string& uid, const std::string& name) {
    keeper.container_created(sandbox(uid), container(name));
  }
  void show(const std::string& uid, const std::string& name, const std::string& reason,
            const std::string& message) {
    keeper.own_pod_shown(
        {.uid = uid,
         .containers = {{.name = name, .waiting_reason = reason, .waiting_message = message}}});
  }

  agent_service::EnforcementKeeper keeper{{"snug", "snug-agent-x", "own"}};
};

TEST_F(EnforcementKeeperTest, OnlyTheProbeOfTheOwnPodCounts) {
  keeper.runtime_connected(kFeatures);
  keeper.probe_withdrawn();
  const std::string message = R"(missing required plugin "snug-probe")";
  show("own", "probe", "ContainerCreating", "");
  const std::vector<std::pair<std::string, std::string>> others = {
      {"other", "probe"}, {"own", "agent"}, {"own", ""}, {"", "probe"}};
  for (const auto& [uid, name] : others) {
    for (int i = 0; i < 3; ++i) ask(uid, name);
    create(uid, name);
  }
  EXPECT_FALSE(keeper.state().is_settled);
  show("own", "probe", "CreateContainerError", message);
  EXPECT_FALSE(keeper.state().is_settled) << "nothing has been asked";
  show("own", "probe", "ContainerCreating", "");
  ask("own", "probe");
  EXPECT_FALSE(keeper.state().is_settled);
  show("own", "probe", "CreateContainerError", message);
  EXPECT_TRUE(keeper.state().is_settled);
  EXPECT_TRUE(keeper.state().fails_closed);
}

TEST_F(EnforcementKeeperTest, TheStatusOfTheProbeCountsIfItNamesThePlugIn) {
  const std::string reason = "CreateContainerError";
  const std::string message =
      R"(validator "default" rejected: missing required plugin "snug-probe")";
  keeper.runtime_connected(kFeatures);
  keeper.probe_withdrawn();
  show("own", "probe", "ContainerCreating", "");
  ask("own", "probe");
  show("own", "probe", "ImagePullBackOff", message);
  show("own", "probe", reason, "the image is gone");
  show("own", "agent", reason, message);
  show("other", "probe", reason, message);
  EXPECT_FALSE(keeper.state().is_settled);
  show("own", "probe", reason, message);
  EXPECT_TRUE(keeper.state().fails_closed);
  EXPECT_TRUE(keeper.state().is_settled);
}

TEST_F(EnforcementKeeperTest, AnAgentInNoPodProvesNothing) {
  agent_service::EnforcementKeeper outside{{}};
  outside.runtime_connected(kFeatures);
  outside.probe_withdrawn();
  for (int i = 0; i < 3; ++i) {
    outside.container_requested({}, {.name = std::string(agent::kProbeContainer)});
  }
  outside.own_pod_shown({.containers = {{.name = "probe"}}});
  EXPECT_FALSE(outside.state().is_settled);
}

TEST_F(EnforcementKeeperTest, TheStateSaysWhetherTheRuntimeIsConnected) {
  EXPECT_FALSE(keeper.state().is_connected);
  keeper.claimed();
  EXPECT_TRUE(keeper.state().fails_closed);
  keeper.runtime_connected(kFeatures);
  EXPECT_TRUE(keeper.state().is_connected);
  EXPECT_THAT(keeper.state().explanation, HasSubstr(kStands));
  keeper.runtime_disconnected();
  EXPECT_FALSE(keeper.state().is_connected);
  EXPECT_TRUE(keeper.state().fails_closed);
}

TEST(EnforcementStateTest, TheStateCanBeReadWhileTheGateIsLookedFor) {
  int looks = 0;
  std::function<void()> read_state;  // waits forever if the keeper's lock is held
  agent_service::EnforcementKeeper keeper{{}, [&] {
                                            ++looks;
                                            read_state();
                                            return true;
                                          }};
  read_state = [&] { static_cast<void>(keeper.state()); };
  keeper.runtime_connected({.cdi_injection = true});
  keeper.check_gate(base::TimePoint{});
  EXPECT_EQ(looks, 2);
}

/// A runtime that cannot refuse containers itself, with a gate.
class GateOfANodeTest : public ::testing::Test {
 protected:
  static constexpr agent::RuntimeFeatures kNoValidator{.cdi_injection = true};
  static constexpr base::TimePoint at(int ms) {
    return base::TimePoint{} + std::chrono::milliseconds(ms);
  }

  bool runs = true;
  agent_service::EnforcementKeeper keeper{{}, [this] { return runs; }};
};

TEST_F(GateOfANodeTest, AClaimStandsWithTheGateAndEndsOneSecondAfterIt) {
  keeper.claimed();
  keeper.runtime_connected(kNoValidator);
  keeper.check_gate(at(0));
  EXPECT_TRUE(keeper.state().fails_closed);
  EXPECT_FALSE(keeper.state().is_settled);
  runs = false;
  keeper.check_gate(at(5'000));
  keeper.check_gate(at(5'999));
  EXPECT_TRUE(keeper.state().fails_closed);
  keeper.check_gate(at(6'000));
  EXPECT_FALSE(keeper.state().fails_closed);
  EXPECT_TRUE(keeper.state().is_settled);
}

TEST_F(GateOfANodeTest, ARestartOfTheRuntimeEndsNoClaim) {
  keeper.claimed();
  keeper.runtime_connected(kNoValidator);
  runs = false;
  keeper.check_gate(at(0));
  keeper.runtime_disconnected();
  keeper.check_gate(at(2'000));
  runs = true;
  keeper.runtime_connected(kNoValidator);
  runs = false;
  keeper.check_gate(at(2'100));
  keeper.check_gate(at(3'000));
  EXPECT_TRUE(keeper.state().fails_closed) << "it is missed for 0.9 s";
  runs = true;
  keeper.check_gate(at(3'050));
  runs = false;
  keeper.check_gate(at(3'100));
  EXPECT_TRUE(keeper.state().fails_closed);
}

TEST_F(GateOfANodeTest, WithoutAGateOrCdiDevicesFromPlugInsTheNodeIsOpenAtOnce) {
  keeper.claimed();
  keeper.runtime_connected({});
  EXPECT_FALSE(keeper.state().fails_closed);
  EXPECT_TRUE(keeper.state().is_settled);
  runs = false;
  keeper.runtime_connected(kNoValidator);
  EXPECT_FALSE(keeper.state().fails_closed);
  EXPECT_TRUE(keeper.state().is_settled);
  runs = true;
  keeper.check_gate(at(0));
  EXPECT_TRUE(keeper.state().is_settled) << "the runtime starts its gate before it connects";
}

}  // namespace
}  // namespace snug::enforcement_test
