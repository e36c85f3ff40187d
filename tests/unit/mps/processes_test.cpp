// Real processes: how they are started, seen to end, killed with all of their group, and adopted.
#include "snug/adapters/process/processes.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "snug/base/agent_limits.hpp"

namespace snug::process {
namespace {

namespace fs = std::filesystem;
using mps_service::Ending;
using mps_service::Program;
using ::testing::HasSubstr;

constexpr const char* kShell = "/bin/sh";

Program shell(std::string script) {
  return {.arguments = {kShell, "-c", std::move(script)},
          .environment = {"PATH=/usr/bin:/bin", "NAME=value"}};
}

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() {
    std::string name = (fs::temp_directory_path() / "snug-processes-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~ProcessesTest() override { fs::remove_all(folder_); }

  int begin(const Program& program) {
    const auto id = processes_.start(program);
    EXPECT_TRUE(id) << id.error().message;
    return id.value_or(-1);
  }

  /// Waits for the ending; the test's own limit of time is the only one.
  Ending ending_of(int id) {
    while (true) {
      if (auto ending = processes_.take_ending(id)) return *std::move(ending);
      std::this_thread::yield();
    }
  }

  static void wait_until_file(const fs::path& path) {
    while (!fs::exists(path) || fs::file_size(path) == 0) std::this_thread::yield();
  }

  std::string path(const char* name) const { return (folder_ / name).string(); }

  fs::path folder_;
  Processes processes_;
};

TEST_F(ProcessesTest, AProgramGetsItsInputArgumentsAndEnvironmentAndItsOutputIsKept) {
  Program program = shell("read line; echo \"$line $0 $NAME $HOME\"; echo wrong >&2; exit 3");
  program.arguments.emplace_back("zero");
  program.input = "typed\n";
  const Ending ending = ending_of(begin(program));
  EXPECT_FALSE(ending.is_success);
  EXPECT_EQ(ending.how, "exit status 3");
  EXPECT_EQ(ending.output, "typed zero value \nwrong\n");
}

TEST_F(ProcessesTest, OutputBeyondTheLimitIsDroppedAndTheProgramGoesOn) {
  const Ending ending = ending_of(begin(shell("head -c 300000 /dev/zero")));
  EXPECT_TRUE(ending.is_success);
  EXPECT_EQ(ending.output.size(), std::size_t{base::agent_limits::max_mps_output_bytes});
}

TEST_F(ProcessesTest, OutputIsAppendedToAFile) {
  Program program = shell("echo again");
  program.output_file = path("log");
  EXPECT_EQ(ending_of(begin(program)).output, "");
  ending_of(begin(program));
  std::ifstream file(path("log"));
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, "again\nagain\n");
}

TEST_F(ProcessesTest, ItInheritsNeitherFilesNorBlockedOrIgnoredSignals) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> open(std::fopen(path("open").c_str(), "w"),
                                                             std::fclose);
  ASSERT_TRUE(open);
  sigset_t signals;
  sigset_t before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  const auto pipe_action = std::signal(SIGPIPE, SIG_IGN);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const int masks = begin({.arguments = {"/bin/grep", "Sig", "/proc/self/status"}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, pipe_action);
  const std::string output = ending_of(masks).output;
  EXPECT_THAT(output, HasSubstr("SigBlk:\t0000000000000000\n"));
  const std::uint64_t ignored = std::stoull(output.substr(output.find("SigIgn:") + 8), nullptr, 16);
  EXPECT_EQ(ignored >> (SIGPIPE - 1) & 1U, 0U);
  const int files = begin({.arguments = {"/bin/ls", "/proc/self/fd"}});
  EXPECT_EQ(ending_of(files).output, "0\n1\n2\n3\n");  // 3: the folder that ls reads
}

TEST_F(ProcessesTest, AnErrorSaysWhichStepFailed) {
  const auto missing = processes_.start({.arguments = {"/no/such/program"}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            "/no/such/program: it cannot be executed: No such file or directory");
  Program rootless = shell("true");
  rootless.root = path("none");
  const auto no_root = processes_.start(rootless);
  ASSERT_FALSE(no_root);
  EXPECT_THAT(no_root.error().message, HasSubstr("/bin/sh: its root folder cannot be changed: "));
}

TEST_F(ProcessesTest, ASignalReachesAllOfItsGroupAndSoDoesItsEnd) {
  const std::string script = "sleep 600 & echo $! >" + path("pid") + "; ";
  for (const bool is_sent : {true, false}) {
    const int id = begin(shell(script + (is_sent ? "wait" : "exit 0")));
    wait_until_file(path("pid"));
    if (is_sent) processes_.send(id, SIGTERM);
    EXPECT_EQ(ending_of(id).how, is_sent ? "signal 15" : "exit status 0");
    pid_t child = 0;
    std::ifstream(path("pid")) >> child;
    // An orphan may stay as a zombie if nothing reaps it here.
    const std::string status = "/proc/" + std::to_string(child) + "/stat";
    for (std::string text = "R"; !text.empty() && text.find(") Z") == text.npos;) {
      std::ifstream file(status);
      text = std::string((std::istreambuf_iterator<char>(file)), {});
    }
    fs::remove(path("pid"));
  }
}

TEST_F(ProcessesTest, AnAbandonedProcessIsKilledAndForgotten) {
  const int id = begin(shell("sleep 600"));
  processes_.abandon(id);
  EXPECT_FALSE(processes_.take_ending(id));
  while (::kill(id, 0) == 0) (void)processes_.take_ending(-1);
  EXPECT_EQ(processes_.adopt(id).error().code, base::ErrorCode::kNotFound);
}

TEST_F(ProcessesTest, TheDaemonThatListensIsFoundAndWatchedThoughItIsNoChild) {
  const std::string folder = folder_.string();
  EXPECT_EQ(processes_.find_daemon(folder).error().code, base::ErrorCode::kNotFound);
  const std::string variable = "CUDA_MPS_PIPE_DIRECTORY=" + folder;
  const char* environment[] = {variable.c_str(), nullptr};
  int until_exec[2];  // which closes it
  ASSERT_EQ(::pipe2(until_exec, O_CLOEXEC), 0);
  const pid_t id = ::fork();
  if (id == 0) {
    ::setsid();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path("control").copy(address.sun_path, sizeof address.sun_path - 1);
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
    (void)::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    (void)::listen(listener, 8);
    ::execle("/bin/sleep", "sleep", "600", nullptr, environment);
    ::_exit(1);
  }
  ::close(until_exec[1]);
  char end = 0;
  ASSERT_EQ(::read(until_exec[0], &end, 1), 0);
  ::close(until_exec[0]);
  // The kernel closes the pipe before the new program has its environment.
  const std::string variables = "/proc/" + std::to_string(id) + "/environ";
  while (std::ifstream(variables).peek() == std::ifstream::traits_type::eof())
    std::this_thread::yield();
  const auto found = processes_.find_daemon(folder);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, id);
  Processes others;
  ASSERT_TRUE(others.adopt(id));
  others.send(id, SIGTERM);
  // Of a child of this program, so that it is seen as a zombie: nobody has waited for it.
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOWAIT), 0);
  const auto ending = others.take_ending(id);
  ASSERT_TRUE(ending);
  EXPECT_EQ(ending->how, "it was started by an earlier snug-mps");
  EXPECT_EQ(processes_.find_daemon(folder).error().code, base::ErrorCode::kNotFound);
}

TEST_F(ProcessesTest, AProgramSeesFoldersThatNobodyElseSeesAndAnotherRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directories(folder_ / "own");
  fs::create_directories(folder_ / "place");
  std::ofstream(path("own/file")) << "x";
  Program program = shell("ls " + path("place"));
  program.binds = {{path("own"), path("place")}};
  program.root = "/proc/self/root";
  const auto id = processes_.start(program);
  if (!id && id.error().message.find("mounts of its own") != std::string::npos)
    GTEST_SKIP() << id.error().message;
  EXPECT_EQ(ending_of(*id).output, "file\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "place"));
}

}  // namespace
}  // namespace snug::process
