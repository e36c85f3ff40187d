#include "adapters/process/launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>

#include "snug/base/enum_names.hpp"

namespace snug::process {
namespace {

enum class LaunchStep : std::uint8_t { kPrepare, kSeparate, kMount, kChangeRoot, kExecute };
constexpr base::EnumNames kLaunchStepNames{
    std::array{base::EnumName{LaunchStep::kPrepare, "its process cannot be prepared"},
               base::EnumName{LaunchStep::kSeparate, "it cannot get mounts of its own"},
               base::EnumName{LaunchStep::kMount, "a folder cannot be mounted for it"},
               base::EnumName{LaunchStep::kChangeRoot, "its root folder cannot be changed"},
               base::EnumName{LaunchStep::kExecute, "it cannot be executed"}}};

struct LaunchFailure {
  LaunchStep step = LaunchStep::kPrepare;
  int error = 0;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

/// What the new process does. Only system calls: it has one thread, and any lock may be taken.
struct Launcher {
  const mps_service::Program& program;
  char* const* arguments;
  char* const* environment;
  int input;
  int output;

  /// Returns only if a step fails.
  [[nodiscard]] LaunchFailure run() const {
    if (::setsid() < 0 || ::dup2(input, STDIN_FILENO) < 0 || ::dup2(output, STDOUT_FILENO) < 0 ||
        ::dup2(output, STDERR_FILENO) < 0) {
      return {LaunchStep::kPrepare, errno};
    }
    // Files of libraries that were opened without O_CLOEXEC. An old kernel lacks the call.
    (void)::syscall(SYS_close_range, 3U, ~0U, 1U << 2U /* CLOSE_RANGE_CLOEXEC */);
    std::signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (!program.binds.empty()) {
      // As a slave it sees what the host unmounts, and shows the host none of its own mounts.
      if (::unshare(CLONE_NEWNS) != 0 ||
          ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
        return {LaunchStep::kSeparate, errno};
      }
      for (const auto& [what, where] : program.binds) {
        if (::mount(what.c_str(), where.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0)
          return {LaunchStep::kMount, errno};
      }
    }
    if (!program.root.empty() && (::chroot(program.root.c_str()) != 0 || ::chdir("/") != 0))
      return {LaunchStep::kChangeRoot, errno};
    ::execve(arguments[0], arguments, environment);
    return {LaunchStep::kExecute, errno};
  }
};

}  // namespace

base::Result<int> launch(const mps_service::Program& program, int input, int output) {
  const std::vector<char*> arguments = pointers(program.arguments);
  const std::vector<char*> environment = pointers(program.environment);
  const Launcher launcher{program, arguments.data(), environment.data(), input, output};
  const std::string& name = program.arguments.front();
  std::array<int, 2> report{};  // closed by a successful exec
  if (::pipe2(report.data(), O_CLOEXEC) != 0) {
    return base::fail(base::ErrorCode::kUnavailable,
                      name + ": cannot be started: " + std::strerror(errno));
  }
  const pid_t id = ::fork();
  if (id == 0) {
    const LaunchFailure failure = launcher.run();
    (void)!::write(report[1], &failure, sizeof failure);
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(report[1]);
  LaunchFailure failure;
  ssize_t count = -1;
  if (id > 0) {
    do {
      count = ::read(report[0], &failure, sizeof failure);
    } while (count < 0 && errno == EINTR);
  }
  ::close(report[0]);
  if (id < 0) {
    return base::fail(base::ErrorCode::kUnavailable,
                      name + ": cannot be started: " + std::strerror(fork_error));
  }
  if (count <= 0) return id;
  (void)::waitpid(id, nullptr, 0);
  return base::fail(base::ErrorCode::kUnavailable, name + ": " +
                                                       std::string(kLaunchStepNames[failure.step]) +
                                                       ": " + std::strerror(failure.error));
}

}  // namespace snug::process
