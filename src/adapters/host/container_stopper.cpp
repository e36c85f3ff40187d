#include "snug/adapters/host/container_stopper.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "snug/agent/cgroup_folder.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;

class PidFd {
 public:
  explicit PidFd(pid_t pid) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U))) {}
  ~PidFd() {
    if (fd_ >= 0) ::close(fd_);
  }
  PidFd(const PidFd&) = delete;
  PidFd& operator=(const PidFd&) = delete;

  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] bool kill() const {
    return ::syscall(SYS_pidfd_send_signal, fd_, SIGKILL, nullptr, 0U) == 0;
  }

 private:
  int fd_;
};

std::optional<pid_t> pid_of(const std::string& name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  const bool is_pid = error == std::errc() && end == name.data() + name.size() && pid > 1;
  return is_pid ? std::optional(pid) : std::nullopt;
}

/// The file, up to max_cgroup_file_bytes; empty if it cannot be read.
std::string read_file(const std::string& path) {
  std::string text(base::agent_limits::max_cgroup_file_bytes, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t count = ::read(file, text.data(), text.size());
  ::close(file);
  text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return text;
}

/// Whether one of the paths in the text of /proc/PID/cgroup has the part `name`. Paths are compared
/// by one part because those of version 2 are relative to the reader's cgroup namespace.
bool is_in_cgroup(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("/\n");
    if (text.substr(0, end) == name) return true;
    if (end == text.npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

/// The last part of the cgroup's path; empty: it is not that of a container with this id.
std::string cgroup_name(std::string_view container_id, std::string_view cgroup_path) {
  const auto folder = agent::cgroup_folder(cgroup_path);
  if (!folder || container_id.size() < base::agent_limits::min_container_id_bytes) return {};
  std::string name = folder->substr(folder->rfind('/') + 1);
  return name.find(container_id) == name.npos ? std::string() : name;
}

}  // namespace

base::Result<void> ContainerStopper::stop_container(std::string_view container_id,
                                                    std::string_view cgroup_path) {
  const std::string name = cgroup_name(container_id, cgroup_path);
  if (name.empty()) {
    return base::fail(base::ErrorCode::kInvalid, base::in_quotes(cgroup_path) +
                                                     " is not the cgroup of the container " +
                                                     base::in_quotes(container_id));
  }
  std::error_code error;
  fs::directory_iterator entry(proc_, error);
  int killed = 0;
  int refusal = 0;  // errno
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const auto pid = pid_of(entry->path().filename().string());
    if (!pid) continue;
    const std::string file = entry->path().string() + "/cgroup";
    if (!is_in_cgroup(read_file(file), name)) continue;
    const PidFd process(*pid);
    if (!process.is_open()) {
      if (errno != ESRCH) refusal = errno;
      continue;
    }
    if (!is_in_cgroup(read_file(file), name)) continue;  // another process has got the pid
    if (process.kill()) {
      ++killed;
    } else if (errno != ESRCH) {
      refusal = errno;
    }
  }
  if (error || refusal != 0) {
    const std::error_code reason =
        error ? error : std::error_code(refusal, std::generic_category());
    return base::fail(base::ErrorCode::kUnavailable,
                      "its processes cannot be killed: " + reason.message());
  }
  if (killed == 0) {
    return base::fail(base::ErrorCode::kNotFound,
                      "no process of the node has the cgroup " + base::in_quotes(name));
  }
  return {};
}

}  // namespace snug::host
