// The plug-in against a container runtime that behaves as pkg/adaptation of
// github.com/containerd/nri: it calls Configure once the plug-in has registered, possibly before it
// has answered the registration, then Synchronize in one or several parts, and creates containers
// only after that.
#include "snug/adapters/nri/nri_plugin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "snug/agent_codec/nri_messages.hpp"
#include "snug/agent_service/idle_runtime_sink.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/mutex.hpp"
#include "support/fake_ports.hpp"
#include "support/fake_runtime.hpp"
#include "support/nri_proto.hpp"

namespace snug::nri::nri_plugin_test {
namespace {

using namespace std::string_literals;
using agent_service::ProposedContainer;
using nri_proto::bytes_field;
using nri_proto::example_adjustment;
using nri_proto::example_container;
using nri_proto::example_sandbox;
using nri_proto::number_field;

const std::string kPod = bytes_field(1, nri_proto::sandbox(example_sandbox()));
const std::string kPodAndContainer =
    kPod + bytes_field(2, nri_proto::container(example_container()));

/// Notes each call. Its answers are set before the calls.
class NotingSink final : public agent_service::RuntimeSink {
 public:
  bool validates = true;
  base::Result<agent::Adjustment> adjustment = example_adjustment();
  base::Result<void> valid{};
  base::Result<void> may_start{};

  bool connected(const agent_service::RuntimeView& runtime) override {
    note("connected " + runtime.name + " " + runtime.version);
    return validates;
  }
  void disconnected() override { note("disconnected"); }
  void synchronized(const std::vector<agent::SandboxView>& sandboxes,
                    const std::vector<agent::ContainerView>& containers) override {
    note("synchronized " + std::to_string(sandboxes.size()) + " " +
         std::to_string(containers.size()));
  }
  [[nodiscard]] base::Result<agent::Adjustment> create_container(
      const agent::SandboxView& sandbox, const agent::ContainerView& container) override {
    note("create" + same(sandbox, container));
    return adjustment;
  }
  [[nodiscard]] base::Result<void> validate_container(const ProposedContainer& proposed) override {
    note("validate" + same(proposed.sandbox, proposed.container) +
         (proposed.adjustment == example_adjustment() ? "" : " another adjustment"));
    return valid;
  }
  void container_created(const agent::SandboxView& sandbox,
                         const agent::ContainerView& container) override {
    note("created" + same(sandbox, container));
  }
  [[nodiscard]] base::Result<void> start_container(const agent::SandboxView& sandbox,
                                                   const agent::ContainerView& container) override {
    note("start" + same(sandbox, container));
    return may_start;
  }
  void container_ended(std::string_view container_id) override {
    note("ended" + std::string(container_id == example_container().id ? "" : " another one"));
  }
  void sandbox_stopped(const agent::SandboxView& sandbox) override {
    note("sandbox stopped" + same(sandbox, example_container()));
  }

  /// Whether the last call is or becomes `call`.
  bool awaits(const std::string& call) {
    base::MutexLock lock(mutex_);
    return changed_.wait_for(
        mutex_, std::chrono::milliseconds(FakeRuntime::kPatienceMs),
        [&]() SNUG_REQUIRES(mutex_) { return !calls_.empty() && calls_.back() == call; });
  }
  std::vector<std::string> take() {
    const base::MutexLock lock(mutex_);
    return std::exchange(calls_, {});
  }

 private:
  static std::string same(const agent::SandboxView& sandbox,
                          const agent::ContainerView& container) {
    return sandbox == example_sandbox() && container == example_container() ? "" : " another one";
  }
  void note(std::string call) {
    const base::MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }

  base::Mutex mutex_;
  base::Condition changed_;
  std::vector<std::string> calls_ SNUG_GUARDED_BY(mutex_);
};

class NriPluginTest : public testing::Test {
 protected:
  using Calls = std::vector<std::string>;

  void start() {
    runtime_.listen();
    ASSERT_TRUE(plugin_.start());
    EXPECT_EQ(runtime_.accept(), kRegistration);
  }
  std::string configure() {
    return runtime_.call("Configure", bytes_field(2, "containerd") + bytes_field(3, "v2.4.2") +
                                          number_field(4, 5000) + number_field(5, 2000));
  }
  void start_and_synchronize() {
    start();
    runtime_.accept_registration();
    configure();
    EXPECT_EQ(runtime_.call("Synchronize", kPodAndContainer), success(""));
    sink_.take();
  }
  static std::string success(const std::string& payload) { return bytes_field(2, payload); }
  static std::string error(std::int64_t code, const std::string& message) {
    return bytes_field(1, number_field(1, code) + bytes_field(2, message));
  }

  inline static const std::string kRegistration =
      bytes_field(1, "nri.pkg.api.v1alpha1.Runtime") + bytes_field(2, "RegisterPlugin") +
      bytes_field(3, bytes_field(1, "snug") + bytes_field(2, "10"));

  FakeRuntime runtime_;
  NotingSink sink_;
  FakeLog log_;
  NriPlugin plugin_{{.socket_path = runtime_.socket_path()}, sink_, log_};
};

// The bits of CREATE_CONTAINER (4), POST_CREATE_CONTAINER (5), START_CONTAINER (6),
// STOP_CONTAINER (10), REMOVE_CONTAINER (11), STOP_POD_SANDBOX (2).
constexpr std::int64_t kEvents = (1 << 3) | (1 << 4) | (1 << 5) | (1 << 9) | (1 << 10) | (1 << 1);
constexpr std::int64_t kValidation = 1 << 13;

TEST_F(NriPluginTest, TheSinkIsToldOfEachCall) {
  start();
  EXPECT_EQ(configure(), success(number_field(2, kEvents | kValidation)))
      << "the runtime has not answered the registration yet";
  runtime_.accept_registration();
  EXPECT_EQ(runtime_.call("Synchronize", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("CreateContainer", kPodAndContainer),
            success(agent_codec::encode_created(example_adjustment())));
  EXPECT_EQ(
      runtime_.call("ValidateContainerAdjustment",
                    kPodAndContainer + bytes_field(3, nri_proto::adjustment(example_adjustment()))),
      success(""));
  EXPECT_EQ(runtime_.call("PostCreateContainer", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("StartContainer", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("StopContainer", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("RemoveContainer", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("StopPodSandbox", kPod), success(""));
  EXPECT_EQ(sink_.take(),
            (Calls{"connected containerd v2.4.2", "synchronized 1 1", "create", "validate",
                   "created", "start", "ended", "ended", "sandbox stopped"}));
  plugin_.stop();
  EXPECT_EQ(sink_.take(), Calls{"disconnected"});
  EXPECT_TRUE(runtime_.sees_end());
}

TEST_F(NriPluginTest, AnOlderRuntimeTellsSomeEventsAsChangesOfState) {
  start_and_synchronize();
  const std::string pod = bytes_field(2, nri_proto::sandbox(example_sandbox()));
  const std::string container = bytes_field(3, nri_proto::container(example_container()));
  EXPECT_EQ(runtime_.call("StateChange", number_field(1, 5) + pod + container), success(""));
  EXPECT_EQ(runtime_.call("StateChange", number_field(1, 6) + pod + container), success(""));
  EXPECT_EQ(runtime_.call("StateChange", number_field(1, 11) + pod + container), success(""));
  EXPECT_EQ(runtime_.call("StateChange", number_field(1, 2) + pod), success(""));
  EXPECT_EQ(runtime_.call("StateChange", number_field(1, 1) + pod), success(""));
  EXPECT_EQ(sink_.take(), (Calls{"created", "start", "ended", "sandbox stopped"}));
}

TEST_F(NriPluginTest, AContainerThatMayNotStartIsAnErrorForBothKindsOfRuntime) {
  start_and_synchronize();
  sink_.may_start = base::fail(base::ErrorCode::kUnavailable, "snug: no limit");
  EXPECT_EQ(runtime_.call("StartContainer", kPodAndContainer), error(9, "snug: no limit"));
  EXPECT_EQ(
      runtime_.call("StateChange", number_field(1, 6) +
                                       bytes_field(2, nri_proto::sandbox(example_sandbox())) +
                                       bytes_field(3, nri_proto::container(example_container()))),
      error(9, "snug: no limit"));
}

TEST_F(NriPluginTest, AContainerThatRequiresThePlugInIsMarkedWithItsId) {
  start_and_synchronize();
  sink_.adjustment = agent::Adjustment{};
  for (const auto& [required, is_marked] :
       {std::pair(R"(["snug"])", true), {R"(["snug-probe"])", false}}) {
    agent::SandboxView sandbox = example_sandbox();
    sandbox.annotations["required-plugins.noderesource.dev/container.main"] = required;
    EXPECT_EQ(runtime_.call("CreateContainer",
                            bytes_field(1, nri_proto::sandbox(sandbox)) +
                                bytes_field(2, nri_proto::container(example_container()))),
              success(is_marked ? bytes_field(1, bytes_field(2, nri_proto::entry(
                                                                    "snug.dev/seen-by.snug", "c1")))
                                : ""));
  }
}

TEST_F(NriPluginTest, ValidationIsSubscribedToOnlyIfTheSinkWantsIt) {
  sink_.validates = false;
  start();
  EXPECT_EQ(configure(), success(number_field(2, kEvents)));
}

TEST_F(NriPluginTest, ConnectionsThatEndAtTheSubscriptionDoNotEndValidations) {
  start();
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(configure(), success(number_field(2, kEvents | kValidation))) << round;
    EXPECT_EQ(runtime_.accept(), kRegistration);
  }
}

TEST_F(NriPluginTest, TheStateOfTheRuntimeComesInParts) {
  start();
  configure();
  EXPECT_EQ(runtime_.call("Synchronize", kPodAndContainer + number_field(3, 1)),
            success(number_field(2, 1)));
  EXPECT_EQ(runtime_.call("Synchronize", kPodAndContainer + number_field(3, 1)),
            success(number_field(2, 1)));
  EXPECT_EQ(sink_.take(), Calls{"connected containerd v2.4.2"});
  EXPECT_EQ(runtime_.call("Synchronize", kPod), success(""));
  EXPECT_EQ(sink_.take(), Calls{"synchronized 3 2"});
}

TEST_F(NriPluginTest, TooManyObjectsAreRefused) {
  start();
  configure();
  std::string pods;
  for (std::int64_t i = 0; i <= base::agent_limits::max_nri_objects; ++i) {
    pods += bytes_field(1, "");
  }
  EXPECT_EQ(runtime_.call("Synchronize", pods),
            error(8, "this plug-in can hold 65536 pods and containers"));
}

TEST_F(NriPluginTest, AnErrorOfTheSinkRefusesTheContainer) {
  sink_.adjustment = base::fail(base::ErrorCode::kNotFound, "no such GPU");
  sink_.valid = base::fail(base::ErrorCode::kInvalid, "a foreign CDI device");
  start_and_synchronize();
  EXPECT_EQ(runtime_.call("CreateContainer", kPodAndContainer), error(9, "no such GPU"));
  EXPECT_EQ(runtime_.call("ValidateContainerAdjustment", kPodAndContainer),
            success(number_field(1, 1) + bytes_field(2, "a foreign CDI device")));
}

TEST_F(NriPluginTest, AContainerWhoseRequestCannotBeReadIsRefused) {
  start_and_synchronize();
  const auto response =
      agent_codec::decode_ttrpc_response(runtime_.call("CreateContainer", "\x0a"));
  EXPECT_EQ(response->code, 3);
  EXPECT_EQ(sink_.take(), Calls{});
  EXPECT_EQ(runtime_.call("StopPodSandbox", kPod), success("")) << "the connection goes on";
}

TEST_F(NriPluginTest, OtherMethodsAreUnimplementedAndNoneComesBeforeConfigure) {
  start();
  EXPECT_EQ(runtime_.call("CreateContainer", kPodAndContainer),
            error(9, "CreateContainer was called before Configure"));
  configure();
  EXPECT_EQ(
      runtime_.call("UpdateContainer", kPodAndContainer),
      error(12,
            "this plug-in does not have the method nri.pkg.api.v1alpha1.Plugin/UpdateContainer"));
  EXPECT_EQ(sink_.take(), Calls{"connected containerd v2.4.2"});
}

TEST_F(NriPluginTest, LongRequestsAndAnswersCross) {
  agent::Adjustment large;
  large.env.emplace_back("LONG", std::string(1'000'000, 'x'));
  sink_.adjustment = large;
  start_and_synchronize();
  const std::string padding = bytes_field(99, std::string(1'000'000, 'y'));
  EXPECT_EQ(runtime_.call("CreateContainer", padding + kPodAndContainer, 1'000),
            success(agent_codec::encode_created(large)));
}

TEST_F(NriPluginTest, AnAnswerBeyondTheLimitIsAnError) {
  sink_.adjustment->env.emplace_back("LONG",
                                     std::string(base::agent_limits::max_nri_message_bytes, 'x'));
  start_and_synchronize();
  const auto response =
      agent_codec::decode_ttrpc_response(runtime_.call("CreateContainer", kPodAndContainer));
  EXPECT_EQ(response->code, 8) << response->message;
}

TEST_F(NriPluginTest, AMessageBeyondTheLimitEndsTheConnection) {
  start_and_synchronize();
  runtime_.send("\x00\x00\x00\x01\xff\xff\xff\xff"s);
  EXPECT_TRUE(runtime_.sees_end());
  EXPECT_TRUE(sink_.awaits("disconnected"));
  EXPECT_EQ(runtime_.accept(), kRegistration) << "it connects again";
}

TEST_F(NriPluginTest, ItRegistersAgainAfterTheRuntimeHasRestarted) {
  start_and_synchronize();
  runtime_.stop_listening();
  runtime_.disconnect();
  EXPECT_TRUE(sink_.awaits("disconnected"));
  runtime_.listen();
  EXPECT_EQ(runtime_.accept(), kRegistration);
  configure();
  EXPECT_EQ(runtime_.call("Synchronize", kPod), success(""));
  EXPECT_EQ(runtime_.call("CreateContainer", kPodAndContainer),
            success(agent_codec::encode_created(example_adjustment())));
  EXPECT_EQ(sink_.take(),
            (Calls{"disconnected", "connected containerd v2.4.2", "synchronized 1 0", "create"}));
}

TEST_F(NriPluginTest, TheRuntimeMayGiveUpDuringACall) {
  start_and_synchronize();
  runtime_.send(nri_proto::call(101, "CreateContainer", kPodAndContainer));
  runtime_.disconnect();
  EXPECT_EQ(runtime_.accept(), kRegistration);
  EXPECT_TRUE(sink_.awaits("disconnected"));
}

TEST_F(NriPluginTest, RetriesAreNotLogged) {
  start();
  for (int retry = 0; retry < 3; ++retry) EXPECT_EQ(runtime_.accept(), kRegistration);
  EXPECT_EQ(log_.take(), Calls{"not registered with the container runtime"});
  configure();
  runtime_.call("Synchronize", kPod);
  runtime_.call("StopPodSandbox", kPod);
  EXPECT_EQ(log_.take(), Calls{"registered with the container runtime"});
  EXPECT_EQ(runtime_.accept(), kRegistration);
  EXPECT_EQ(log_.take(), Calls{"not registered with the container runtime"});
}

TEST_F(NriPluginTest, ARefusedRegistrationIsLoggedAndTriedAgain) {
  start();
  runtime_.refuse_registration("invalid plugin name");
  EXPECT_TRUE(runtime_.sees_end());
  EXPECT_EQ(runtime_.accept(), kRegistration);
  EXPECT_EQ(log_.fields().at(0),
            " plugin=snug socket=" + runtime_.socket_path() +
                " reason=the runtime refused the registration: invalid plugin name");
}

TEST_F(NriPluginTest, ItStopsWhileTheRuntimeDoesNotRead) {
  sink_.adjustment->env.emplace_back("LONG", std::string(3'000'000, 'x'));
  start_and_synchronize();
  runtime_.send(nri_proto::call(101, "CreateContainer", kPodAndContainer));
  EXPECT_TRUE(sink_.awaits("create"));
  plugin_.stop();
  EXPECT_EQ(sink_.take(), (Calls{"create", "disconnected"}));
}

TEST_F(NriPluginTest, ItStopsWithoutARuntime) {
  ASSERT_TRUE(plugin_.start());
  plugin_.stop();
  plugin_.stop();
  EXPECT_EQ(sink_.take(), Calls{});
}

TEST_F(NriPluginTest, AnIdlePlugInChangesNothing) {
  agent_service::IdleRuntimeSink idle;
  NriPlugin probe({.socket_path = runtime_.socket_path(), .name = "snug-probe"}, idle, log_);
  runtime_.listen();
  ASSERT_TRUE(probe.start());
  EXPECT_NE(runtime_.accept().find("snug-probe"), std::string::npos);
  EXPECT_EQ(configure(), success(number_field(2, kEvents)))
      << "an empty mask would subscribe to all events";
  EXPECT_EQ(runtime_.call("Synchronize", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("CreateContainer", kPodAndContainer), success(""));
  EXPECT_EQ(runtime_.call("PostCreateContainer", kPodAndContainer), success(""));
}

}  // namespace
}  // namespace snug::nri::nri_plugin_test
