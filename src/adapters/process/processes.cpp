#include "snug/adapters/process/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "adapters/process/launch.hpp"
#include "snug/base/agent_limits.hpp"

namespace snug::process {
namespace {

/// An open file, closed at the end of its life.
class OpenFile {
 public:
  explicit OpenFile(int number = -1) : number_(number) {}
  ~OpenFile() { reset(); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

std::unexpected<base::Error> cannot(const std::string& what) {
  return base::fail(base::ErrorCode::kUnavailable, what + ": " + std::strerror(errno));
}

base::Result<void> open_pipe(OpenFile& reader, OpenFile& writer) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot("a pipe cannot be made");
  reader.reset(ends[0]);
  writer.reset(ends[1]);
  return {};
}

bool is_of_this_container(pid_t id) {
  struct stat other{};
  struct stat own{};
  return ::stat(("/proc/" + std::to_string(id) + "/ns/pid").c_str(), &other) == 0 &&
         ::stat("/proc/self/ns/pid", &own) == 0 && other.st_ino == own.st_ino;
}

/// Whether the process was started for this folder of pipes.
bool serves(pid_t id, const std::string& pipe_folder) {
  std::ifstream environment("/proc/" + std::to_string(id) + "/environ", std::ios::binary);
  for (std::string variable; std::getline(environment, variable, '\0');) {
    if (variable == "CUDA_MPS_PIPE_DIRECTORY=" + pipe_folder) return true;
  }
  return false;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Processes::~Processes() {
  for (const auto& [id, watched] : watched_) {
    if (watched.handle >= 0) ::close(watched.handle);
  }
}

base::Result<int> Processes::start(const mps_service::Program& program) {
  OpenFile input;
  OpenFile input_writer;
  OpenFile output;
  OpenFile output_reader;
  if (auto opened = open_pipe(input, input_writer); !opened) return std::unexpected(opened.error());
  if (!program.input.empty() &&
      ::write(input_writer.get(), program.input.data(), program.input.size()) < 0) {
    return cannot("a pipe cannot be written");
  }
  input_writer.reset();
  if (program.output_file.empty()) {
    if (auto opened = open_pipe(output_reader, output); !opened)
      return std::unexpected(opened.error());
    ::fcntl(output_reader.get(), F_SETFL, O_NONBLOCK);
  } else {
    output.reset(::open(program.output_file.c_str(),
                        O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (output.get() < 0) return cannot(program.output_file + ": cannot be opened");
  }
  const base::Result<int> id = launch(program, input.get(), output.get());
  if (id) watched_[*id] = {.handle = output_reader.release()};
  return id;
}

base::Result<void> Processes::adopt(int id) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  if (handle < 0) {
    return base::fail(
        errno == ESRCH ? base::ErrorCode::kNotFound : base::ErrorCode::kUnavailable,
        "the process " + std::to_string(id) + " cannot be watched: " + std::strerror(errno));
  }
  watched_[id] = {.is_child = false, .handle = handle};
  return {};
}

std::optional<mps_service::Ending> Processes::take_ending(int id) {
  reap();
  const auto found = watched_.find(id);
  if (found == watched_.end()) return std::nullopt;
  Watched& watched = found->second;
  mps_service::Ending ending;
  if (watched.is_child) {
    read_output(watched);
    if (!watched.status) return std::nullopt;
    ending = {.is_success = *watched.status == 0,
              .how = how_it_ended(*watched.status),
              .output = std::move(watched.output)};
  } else {
    pollfd entry{.fd = watched.handle, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 0) <= 0) return std::nullopt;
    ending = {.how = "it was started by an earlier snug-mps"};
  }
  if (watched.handle >= 0) ::close(watched.handle);
  watched_.erase(found);
  (void)::kill(-id, SIGKILL);  // what it has left of its group, such as MPS servers
  return ending;
}

void Processes::send(int id, int signal_number) {
  if (!watched_.contains(id)) return;
  // A process that leads no group, which another program has started, gets the signal alone.
  if (::kill(-id, signal_number) != 0) (void)::kill(id, signal_number);
}

void Processes::abandon(int id) {
  send(id, SIGKILL);
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  if (found->second.handle >= 0) ::close(found->second.handle);
  watched_.erase(found);  // reap() drops its status
}

void Processes::reap() {
  int status = 0;
  for (pid_t id = 0; (id = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = watched_.find(id);
    if (found != watched_.end() && found->second.is_child) found->second.status = status;
  }
}

void Processes::read_output(Watched& watched) {
  if (watched.handle < 0) return;
  std::array<char, 4096> bytes{};
  ssize_t count = 0;
  while ((count = ::read(watched.handle, bytes.data(), bytes.size())) > 0) {
    const std::size_t room =
        static_cast<std::size_t>(base::agent_limits::max_mps_output_bytes) - watched.output.size();
    watched.output.append(bytes.data(), std::min(room, static_cast<std::size_t>(count)));
  }
}

base::Result<int> Processes::find_daemon(const std::string& pipe_folder) {
  const std::string socket_path = pipe_folder + "/control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return base::fail(base::ErrorCode::kInvalid, socket_path + ": is too long for a socket");
  }
  socket_path.copy(address.sun_path, socket_path.size());
  const OpenFile socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return cannot("a socket cannot be made");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return base::fail(base::ErrorCode::kNotFound,
                      socket_path + ": cannot be connected to: " + std::strerror(errno));
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return cannot(socket_path + ": its process is not known");
  if (peer.uid != ::geteuid()) {
    return base::fail(base::ErrorCode::kNotFound, socket_path + ": belongs to another user");
  }
  // A process of another container has the id 0, or, if this program sees all of the host, its own.
  // A process that has ended may have left its id to any other.
  if (!is_of_this_container(peer.pid) || !serves(peer.pid, pipe_folder))
    return base::fail(base::ErrorCode::kNotFound, socket_path + ": belongs to no MPS daemon");
  return peer.pid;
}

}  // namespace snug::process
