// Killing the processes of a container: real processes, whose cgroups stand in a procfs of the
// test's own.
#include "snug/adapters/host/container_stopper.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace snug::container_stopper_test {
namespace {

namespace fs = std::filesystem;

const std::string kId = "0123456789abcdef0123456789abcdef";
const std::string kOther = "fedcba9876543210fedcba9876543210";

class ContainerStopperTest : public ::testing::Test {
 protected:
  ContainerStopperTest() {
    std::string folder = fs::temp_directory_path() / "snug-stop-XXXXXX";
    if (::mkdtemp(folder.data()) != nullptr) proc_ = folder;
  }
  ~ContainerStopperTest() override {
    for (const auto& [pid, socket] : children_) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
      ::close(socket);
    }
    fs::remove_all(proc_);
  }

  /// A process in this cgroup, which returns each byte that it gets.
  pid_t run_in(const std::string& cgroups) {
    int sockets[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::close(sockets[0]);
      char byte = 0;
      while (::recv(sockets[1], &byte, 1, 0) == 1) ::send(sockets[1], &byte, 1, MSG_NOSIGNAL);
      ::_exit(0);
    }
    ::close(sockets[1]);
    children_.emplace(pid, sockets[0]);
    show(std::to_string(pid), cgroups);
    return pid;
  }
  void show(const std::string& process, const std::string& cgroups) {
    fs::create_directories(proc_ / process);
    std::ofstream(proc_ / process / "cgroup") << cgroups;
  }
  /// Waits for the end of a process that was killed.
  bool was_killed(pid_t pid) {
    ::close(children_.extract(pid).mapped());
    int status = 0;
    return ::waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  /// A process that was killed cannot answer, even before it is seen as ended.
  bool lives(pid_t pid) {
    char byte = 'x';
    const int socket = children_.at(pid);
    return ::send(socket, &byte, 1, MSG_NOSIGNAL) == 1 && ::recv(socket, &byte, 1, 0) == 1;
  }
  auto stop(const std::string& id, const std::string& cgroup) {
    return host::ContainerStopper(proc_).stop_container(id, cgroup);
  }

  fs::path proc_;
  std::map<pid_t, int> children_;  // and the socket to each
};

TEST_F(ContainerStopperTest, AllProcessesOfTheContainerAreKilledAndNoOthers) {
  const std::string path = "/kubepods/burstable/pod1/";
  const pid_t first = run_in("11:devices:" + path + kId + "\n0::/\n");
  const pid_t nested = run_in("0::" + path + kId + "/inner\n");
  const pid_t sibling = run_in("0::" + path + kOther + "\n");
  const pid_t longer = run_in("0::" + path + kId + "0\n");
  show("self", "0::" + path + kId + "\n");
  const auto stopped = stop(kId, path + kId);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(was_killed(first));
  EXPECT_TRUE(was_killed(nested));
  EXPECT_TRUE(lives(sibling));
  EXPECT_TRUE(lives(longer));
}

TEST_F(ContainerStopperTest, ACgroupOfSystemdIsFoundFromAnotherNamespace) {
  const pid_t main = run_in("0::/../../kubepods-pod1.slice/crio-" + kId + ".scope/container\n");
  const pid_t monitor = run_in("0::/../../kubepods-pod1.slice/crio-conmon-" + kId + ".scope\n");
  ASSERT_TRUE(stop(kId, "kubepods-pod1.slice:crio:" + kId));
  EXPECT_TRUE(was_killed(main));
  EXPECT_TRUE(lives(monitor));
}

TEST_F(ContainerStopperTest, ACgroupThatIsNotTheContainersIsRefused) {
  const pid_t child = run_in("0::/kubepods/" + kId + "\n");
  for (const auto& [id, cgroup] :
       {std::pair(kId, std::string("/kubepods")), std::pair(kId, "/kubepods/" + kOther),
        std::pair(kId, "/kubepods/../" + kId), std::pair(kId, std::string()),
        std::pair(std::string(), "/kubepods/" + kId),
        std::pair(std::string("0123"), "/kubepods/" + kId)}) {
    const auto stopped = stop(id, cgroup);
    ASSERT_FALSE(stopped) << id << " " << cgroup;
    EXPECT_EQ(stopped.error().code, base::ErrorCode::kInvalid) << cgroup;
  }
  EXPECT_TRUE(lives(child));
}

TEST_F(ContainerStopperTest, AContainerWithoutProcessesIsNotFound) {
  const pid_t ended = run_in("0::/kubepods/" + kId + "\n");
  ::kill(ended, SIGKILL);
  EXPECT_TRUE(was_killed(ended));  // its pid is still in the procfs of the test
  EXPECT_EQ(stop(kId, "/kubepods/" + kId).error().code, base::ErrorCode::kNotFound);
  fs::remove_all(proc_);
  EXPECT_EQ(stop(kId, "/kubepods/" + kId).error().code, base::ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace snug::container_stopper_test
