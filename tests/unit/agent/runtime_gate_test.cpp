// snug-gate: its rule, its side of the connection to the container runtime, and its files.
#include "snug/adapters/nri/runtime_gate.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "snug/adapters/host/gate_files.hpp"
#include "snug/agent/required_plugins.hpp"
#include "snug/agent/waiting_pods.hpp"
#include "snug/agent_codec/nri_messages.hpp"
#include "support/fake_runtime.hpp"
#include "support/nri_proto.hpp"

namespace snug::runtime_gate_test {
namespace {

namespace fs = std::filesystem;
using nri_proto::bytes_field;
using nri_proto::number_field;

const std::string kKey = "required-plugins.noderesource.dev/container.";
const std::string kPodKey = "required-plugins.noderesource.dev/pod";

agent::SandboxView pod_that_requires(const std::string& container, const std::string& plugins) {
  return {.id = "s1", .annotations = {{kKey + container, plugins}}};
}

/// The container main with the marks of the agent and of the probe's plug-in; empty: none.
agent::ContainerView marked(const std::string& by_agent, const std::string& by_probe = "") {
  agent::ContainerView container{.id = "c1", .sandbox_id = "s1", .name = "main"};
  if (!by_agent.empty()) container.annotations["snug.dev/seen-by.snug"] = by_agent;
  if (!by_probe.empty()) container.annotations["snug.dev/seen-by.snug-probe"] = by_probe;
  return container;
}

TEST(GateRuleTest, AContainerIsRefusedUntilThePlugInThatItRequiresHasSeenIt) {
  struct Row {
    agent::SandboxView sandbox;
    agent::ContainerView container;
    std::string absent;  // the plug-in that the refusal names; empty: it is not refused
  };
  const Row rows[] = {
      {pod_that_requires("main", R"(["snug"])"), marked(""), "snug"},
      {pod_that_requires("main", R"(["snug"])"), marked("c1"), ""},
      {pod_that_requires("main", R"(["snug"])"), marked("c2"), "snug"},  // copied or guessed
      {pod_that_requires("main", R"(["snug"])"), marked("", "c1"), "snug"},
      {pod_that_requires("main", R"(["snug-probe"])"), marked("c1"), "snug-probe"},
      {pod_that_requires("main", R"(["snug-probe"])"), marked("", "c1"), ""},
      {pod_that_requires("main", R"(["snug","snug-probe"])"), marked("c1"), "snug-probe"},
      {pod_that_requires("main", R"(["other", "snug"])"), marked(""), "snug"},
      {pod_that_requires("main", "- other\n- snug\n"), marked(""), "snug"},
      {pod_that_requires("main", "['snug', other]"), marked(""), "snug"},
      {pod_that_requires("main", "snug"), marked(""), "snug"},
      {pod_that_requires("main", R"(["other"])"), marked(""), ""},
      {pod_that_requires("main", R"(["snugger", "my-snug", "snug.x"])"), marked(""), ""},
      {pod_that_requires("main", ""), marked(""), ""},
      {pod_that_requires("second", R"(["snug"])"), marked(""), ""},
      {{.id = "s1"}, marked(""), ""},
      {{.id = "s1", .annotations = {{kPodKey, R"(["snug"])"}}}, marked(""), "snug"},
      {{.id = "s1", .annotations = {{kPodKey, R"(["snug"])"}}}, marked("c1"), ""},
      {{.id = "s1", .annotations = {{kKey + "main", "[]"}, {kPodKey, R"(["snug"])"}}},
       marked(""),
       ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.sandbox.annotations.empty() ? "" : row.sandbox.annotations.begin()->second);
    const auto refusal = agent::gate_refusal(row.sandbox, row.container);
    EXPECT_EQ(
        refusal.value_or(""),
        row.absent.empty() ? "" : "snug-gate: required plugin \"" + row.absent + "\" not present");
  }
}

TEST(GateRuleTest, TheMarkOfAPlugInOpensTheGateForItsContainer) {
  const agent::SandboxView pod = pod_that_requires("main", R"(["snug"])");
  agent::ContainerView container = marked("");
  agent::Adjustment adjustment;
  agent::mark_if_required(pod, container, "snug-probe", adjustment);
  EXPECT_EQ(adjustment, agent::Adjustment{});
  agent::mark_if_required(pod, container, agent::kAgentPlugin, adjustment);
  ASSERT_EQ(adjustment.annotations.size(), 1U);
  container.annotations.insert(adjustment.annotations.front());
  EXPECT_FALSE(agent::gate_refusal(pod, container));
}

TEST(GateRuleTest, TheAgentKnowsTheRefusalFromTheStatusOfThePod) {
  for (const std::string plugin : {"snug", "snug-probe"}) {
    const agent::PodContainerView container{
        .name = "main",
        .waiting_reason = "CreateContainerError",
        .waiting_message =
            "failed to create containerd container: " +
            *agent::gate_refusal(pod_that_requires("main", "[\"" + plugin + "\"]"), marked(""))};
    EXPECT_TRUE(agent::lacks_plugin(container, plugin));
    EXPECT_EQ(agent::waits_for_agent({.containers = {container}}), plugin == "snug");
  }
}

class RuntimeGateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime_.listen();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, runtime_.socket_path().c_str(), sizeof address.sun_path - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::connect(socket, generic, sizeof address), 0);
    thread_ = std::thread([this, socket] {
      ended_ = nri::serve_gate(
          {.socket = socket, .name = "snug-gate", .index = "99", .on_ready = [this] { ++ready_; }});
    });
  }
  void TearDown() override {
    runtime_.disconnect();
    if (thread_.joinable()) thread_.join();
  }
  static std::string success(const std::string& payload) { return bytes_field(2, payload); }
  std::string create(const agent::SandboxView& sandbox, const agent::ContainerView& container) {
    return runtime_.call("CreateContainer", bytes_field(1, nri_proto::sandbox(sandbox)) +
                                                bytes_field(2, nri_proto::container(container)));
  }

  FakeRuntime runtime_;
  int ready_ = 0;  // read after an answer, or after the end of the thread
  base::Error ended_;
  std::thread thread_;
};

TEST_F(RuntimeGateTest, ItAsksForTheCreationOfContainersAloneAndRefusesWithOneSentence) {
  EXPECT_EQ(runtime_.accept(),
            bytes_field(1, "nri.pkg.api.v1alpha1.Runtime") + bytes_field(2, "RegisterPlugin") +
                bytes_field(3, bytes_field(1, "snug-gate") + bytes_field(2, "99")));
  runtime_.accept_registration();
  EXPECT_EQ(runtime_.call("Configure", bytes_field(2, "containerd") + bytes_field(3, "v2.1.9")),
            success(number_field(2, 1 << 3)));
  const std::string pod = bytes_field(1, nri_proto::sandbox(nri_proto::example_sandbox()));
  EXPECT_EQ(runtime_.call("Synchronize", pod + number_field(3, 1)), success(number_field(2, 1)));
  EXPECT_EQ(runtime_.call("Synchronize", pod), success(""));
  const agent::SandboxView requires_snug = pod_that_requires("main", R"(["snug"])");
  EXPECT_EQ(create(nri_proto::example_sandbox(), marked("")), success(""));
  EXPECT_EQ(create(requires_snug, marked("c1")), success(""));
  const auto refused = agent_codec::decode_ttrpc_response(create(requires_snug, marked("")));
  EXPECT_EQ(refused->code, 9);
  EXPECT_EQ(refused->message, "snug-gate: required plugin \"snug\" not present");
  EXPECT_EQ(create(requires_snug, marked("c1")), success("")) << "the connection goes on";
  const auto unreadable =
      agent_codec::decode_ttrpc_response(runtime_.call("CreateContainer", "\x0a"));
  EXPECT_EQ(unreadable->code, 3) << "what it cannot read it refuses";
  EXPECT_EQ(runtime_.call("Shutdown", ""), success(""));
  runtime_.disconnect();
  thread_.join();
  EXPECT_EQ(ready_, 1);
  EXPECT_EQ(ended_.message, "the runtime closed the connection");
}

TEST_F(RuntimeGateTest, ItIsNotReadyBeforeTheRuntimeAsksIt) {
  runtime_.accept();
  runtime_.accept_registration();
  runtime_.call("Configure", bytes_field(2, "containerd") + bytes_field(3, "v2.1.9"));
  runtime_.disconnect();
  thread_.join();
  EXPECT_EQ(ready_, 0);
}

class GateFilesTest : public ::testing::Test {
 protected:
  GateFilesTest() {
    std::string name = fs::temp_directory_path() / "snug-gate-XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~GateFilesTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(GateFilesTest, TheLockSaysThatAGateRuns) {
  const std::string path = folder_ / "snug/gate.lock";
  EXPECT_FALSE(host::is_gate_locked(path));
  fs::create_directory(folder_ / "snug");
  ASSERT_TRUE(host::hold_gate_lock(path));
  EXPECT_TRUE(host::is_gate_locked(path));
  EXPECT_TRUE(host::is_gate_locked(path)) << "looking at it does not end it";
  EXPECT_TRUE(host::hold_gate_lock(path)) << "the gate of the next runtime";
  struct stat status{};
  ASSERT_EQ(::stat((folder_ / "snug").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U) << "others could lock it, too";
  // A file that nobody has locked, as a gate leaves it that has ended.
  fs::rename(path, folder_ / "snug/old");
  std::ofstream{path};
  EXPECT_FALSE(host::is_gate_locked(path));
}

TEST_F(GateFilesTest, TheLockEndsWithItsProcess) {
  const std::string path = folder_ / "snug/gate.lock";
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t gate = ::fork();
  if (gate == 0) {
    const char result = host::hold_gate_lock(path) ? 'y' : 'n';
    if (::write(ready[1], &result, 1) != 1) ::_exit(1);
    while (true) ::pause();
  }
  ::close(ready[1]);
  char result = 0;
  EXPECT_EQ(::read(ready[0], &result, 1), 1);
  ::close(ready[0]);
  EXPECT_EQ(result, 'y');
  EXPECT_TRUE(host::is_gate_locked(path));
  ::kill(gate, SIGKILL);
  ASSERT_EQ(::waitpid(gate, nullptr, 0), gate);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(host::is_gate_locked(path));
}

TEST_F(GateFilesTest, ALockThatCannotBeHadIsAnError) {
  std::ofstream{folder_ / "snug"};
  const auto held = host::hold_gate_lock(folder_ / "snug/gate.lock");
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, base::ErrorCode::kUnavailable);
}

TEST_F(GateFilesTest, TheProgramIsInstalledAsTheRuntimeExpectsIt) {
  std::ofstream{folder_ / "program"} << "one";
  const fs::path plugins = folder_ / "plugins";
  for (const std::string text : {"one", "the next version"}) {
    std::ofstream{folder_ / "program"} << text;
    ASSERT_TRUE(host::install_gate(folder_ / "program", plugins));
    EXPECT_EQ(text_of(plugins / "99-snug-gate"), text);
    EXPECT_EQ(fs::status(plugins / "99-snug-gate").permissions(), fs::perms{0755});
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(plugins), {}), 1) << "any other file is harmful";
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2) << "nothing is left beside it";
  EXPECT_FALSE(host::install_gate(folder_ / "none", plugins));
  EXPECT_FALSE(host::install_gate(folder_ / "program", folder_ / "none/plugins"));
}

}  // namespace
}  // namespace snug::runtime_gate_test
