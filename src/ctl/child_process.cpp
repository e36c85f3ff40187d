#include "ctl/child_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "snug/base/limits.hpp"

namespace snug::ctl {
namespace {

constexpr auto kEndPoll = std::chrono::milliseconds(5);
// SIGPIPE: the reader of snugctl's stdout has ended.
constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
constexpr int kExitCannotStart = 127;  // as of a shell
/// Reads of drain(), of up to 4 KiB of each stream: more than the pipes hold, and so not a limit.
constexpr int kMaxDrainReads = 256;

/// The process groups that the signal handler kills; 0: a free place. Only a port-forward that
/// replaces another one, or a short command beside it, makes them more than one.
std::array<volatile sig_atomic_t, 4> groups_to_end{};

/// Puts `group` where `present` is; with one of them 0, this adds or removes a group.
void replace_group(pid_t present, pid_t group) {
  for (volatile sig_atomic_t& place : groups_to_end) {
    if (place != present) continue;
    place = group;
    return;
  }
}

extern "C" void end_groups_and_die(int signal_number) {
  for (const volatile sig_atomic_t& place : groups_to_end) {
    const pid_t group = place;
    if (group > 0) ::kill(-group, SIGKILL);
  }
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal_number, &action, nullptr);
  ::raise(signal_number);  // delivered when this handler returns
}

void handle_ending_signals() {
  for (const int signal_number : kEndingSignals) {
    struct sigaction action = {};
    ::sigaction(signal_number, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as under nohup
    action = {};
    action.sa_handler = &end_groups_and_die;
    ::sigaction(signal_number, &action, nullptr);
  }
}

/// Whether a program can ask for a login: then it must share snugctl's process group, because the
/// terminal stops a program of another group that reads from it.
bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (terminal >= 0) ::close(terminal);
  return terminal >= 0;
}

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(left.count());
}

/// A pipe whose ends are closed in programs that snugctl starts; -1: not open.
struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    close_end(read_end);
    close_end(write_end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
};

/// What a program gets besides its command.
struct StartTerms {
  int input = -1;  // a file that is its stdin; -1: that of snugctl
  TerminalSignals signals = TerminalSignals::kHeeded;
};

struct ChildStreams {
  const Pipe& output;
  const Pipe* errors = nullptr;  // null: stderr and stdin of snugctl
  const Pipe& start_problem;     // receives errno if the program cannot be started
  StartTerms terms;              // with an input, stderr goes to the output
  bool own_group = false;        // false: the process group of snugctl
};

struct StartedProgram {
  pid_t id = -1;
  bool own_group = false;
};

/// Runs in the new process, and so calls only functions that are safe after fork(). The caller
/// blocks the ending signals, because their handler is that of snugctl until exec.
[[noreturn]] void become(char* const* arguments, const ChildStreams& streams, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitCannotStart);  // it ended before prctl()
  if (streams.own_group) ::setpgid(0, 0);
  if (streams.errors != nullptr) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(streams.errors->write_end, STDERR_FILENO);
  }
  if (streams.terms.input >= 0) {
    ::dup2(streams.terms.input, STDIN_FILENO);
    ::dup2(streams.output.write_end, STDERR_FILENO);
  }
  ::dup2(streams.output.write_end, STDOUT_FILENO);
  sigset_t none;
  ::sigemptyset(&none);
  for (const int signal_number : kEndingSignals) {
    const bool is_ignored = streams.terms.signals == TerminalSignals::kIgnored &&
                            (signal_number == SIGINT || signal_number == SIGHUP);
    struct sigaction action = {};
    action.sa_handler = is_ignored ? SIG_IGN : SIG_DFL;
    ::sigaction(signal_number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execvp(arguments[0], arguments);
  const int problem = errno;
  [[maybe_unused]] const ssize_t written =
      ::write(streams.start_problem.write_end, &problem, sizeof problem);
  ::_exit(kExitCannotStart);
}

/// Starts the program. Waits until it runs or has failed to start.
base::Result<StartedProgram> start_program(const std::vector<std::string>& command, Pipe& output,
                                           Pipe* errors, const StartTerms& terms = {}) {
  const bool own_group = errors != nullptr || !has_terminal();
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Pipe start_problem;
  handle_ending_signals();
  sigset_t ending;
  sigset_t before;
  ::sigemptyset(&ending);
  for (const int signal_number : kEndingSignals) ::sigaddset(&ending, signal_number);
  ::sigprocmask(SIG_BLOCK, &ending, &before);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(arguments.data(),
           {.output = output,
            .errors = errors,
            .start_problem = start_problem,
            .terms = terms,
            .own_group = own_group},
           parent);
  }
  if (child > 0 && own_group) {
    ::setpgid(child, child);  // here too, so that the group exists whoever runs first
    replace_group(0, child);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int problem = child < 0 ? errno : 0;
  Pipe::close_end(start_problem.write_end);
  Pipe::close_end(output.write_end);
  if (errors != nullptr) Pipe::close_end(errors->write_end);
  if (child > 0 && ::read(start_problem.read_end, &problem, sizeof problem) <= 0)
    return StartedProgram{.id = child, .own_group = own_group};
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
    replace_group(child, 0);
  }
  return base::fail(
      base::ErrorCode::kUnavailable,
      command.front() + " cannot be started: " +
          (problem == ENOENT ? "there is no such program in PATH" : std::strerror(problem)));
}

int exit_code_of_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Whether the program has ended. Its process id stays valid until waitpid().
bool has_ended(pid_t program) {
  siginfo_t about = {};
  return ::waitid(P_PID, static_cast<id_t>(program), &about, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         about.si_pid != 0;
}

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

bool is_over(const Deadline& deadline) {
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}

/// What the program prints until its output, the program itself or the time ends: what it has
/// started may keep the output open. More than kMaxKubectlOutputBytes if it prints too much.
std::string output_to_end(pid_t program, int output, const Deadline& deadline) {
  ::fcntl(output, F_SETFL, O_NONBLOCK);
  std::string text;
  std::array<char, 16'384> buffer{};
  bool is_all_printed = false;
  while (text.size() <= base::kMaxKubectlOutputBytes && !is_over(deadline)) {
    const ssize_t count = ::read(output, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
      continue;
    }
    if (count == 0 || errno != EAGAIN || is_all_printed) break;
    pollfd stream{output, POLLIN, 0};
    ::poll(&stream, 1, static_cast<int>(kEndPoll.count()));
    is_all_printed = has_ended(program);  // the rest is in the pipe, and is read before the break
  }
  return text;
}

/// A file in memory with this text, at its beginning; -1: it cannot be made.
int file_with(const std::string& text) {
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  const bool is_written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::lseek(file, 0, SEEK_SET) == 0;
  if (file >= 0 && !is_written) ::close(file);
  return is_written ? file : -1;
}

/// Whether the program ends before the deadline. Without one it is not waited for.
bool ends_before(pid_t program, const Deadline& deadline) {
  while (deadline && !has_ended(program)) {
    if (is_over(deadline)) return false;
    std::this_thread::sleep_for(kEndPoll);
  }
  return true;
}

base::Result<FinishedProcess> run_program(const std::vector<std::string>& command,
                                          const StartTerms& terms, TimeLimit limit) {
  Pipe output;
  const base::Result<StartedProgram> program = start_program(command, output, nullptr, terms);
  if (!program) return std::unexpected(program.error());
  Deadline deadline;
  if (limit) deadline = std::chrono::steady_clock::now() + *limit;
  FinishedProcess finished{.exit_code = 0,
                           .output = output_to_end(program->id, output.read_end, deadline)};
  const bool is_too_large = finished.output.size() > base::kMaxKubectlOutputBytes;
  const bool is_too_late = limit && !is_too_large && !ends_before(program->id, deadline);
  if (is_too_large || is_too_late) ::kill(program->own_group ? -program->id : program->id, SIGKILL);
  int status = 0;
  ::waitpid(program->id, &status, 0);
  replace_group(program->id, 0);
  if (is_too_large)
    return base::fail(base::ErrorCode::kTooLarge, command.front() + " printed too much");
  if (limit && is_too_late) {
    return base::fail(base::ErrorCode::kUnavailable, command.front() + " did not end within " +
                                                         std::to_string(limit->count()) +
                                                         " ms, and was killed");
  }
  finished.exit_code = exit_code_of_status(status);
  return finished;
}

}  // namespace

base::Result<FinishedProcess> run_to_end(const std::vector<std::string>& command, TimeLimit limit,
                                         TerminalSignals signals) {
  return run_program(command, {.signals = signals}, limit);
}

base::Result<FinishedProcess> run_with_input(const std::vector<std::string>& command,
                                             const std::string& input, TimeLimit limit) {
  int file = file_with(input);
  if (file < 0) return base::fail(base::ErrorCode::kUnavailable, "no file in memory can be made");
  base::Result<FinishedProcess> finished = run_program(command, {.input = file}, limit);
  Pipe::close_end(file);
  return finished;
}

BackgroundProcess::BackgroundProcess(pid_t group, int output, int errors)
    : group_(group), output_(output), errors_(errors) {
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  ::fcntl(errors_, F_SETFL, O_NONBLOCK);
}

BackgroundProcess::BackgroundProcess(BackgroundProcess&& other) noexcept
    : group_(std::exchange(other.group_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      output_text_(std::move(other.output_text_)),
      error_text_(std::move(other.error_text_)),
      first_complaint_(std::move(other.first_complaint_)),
      last_complaint_(std::move(other.last_complaint_)) {}

BackgroundProcess& BackgroundProcess::operator=(BackgroundProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  group_ = std::exchange(other.group_, -1);
  output_ = std::exchange(other.output_, -1);
  errors_ = std::exchange(other.errors_, -1);
  output_text_ = std::move(other.output_text_);
  error_text_ = std::move(other.error_text_);
  first_complaint_ = std::move(other.first_complaint_);
  last_complaint_ = std::move(other.last_complaint_);
  return *this;
}

BackgroundProcess::~BackgroundProcess() { end(); }

base::Result<BackgroundProcess> BackgroundProcess::start(const std::vector<std::string>& command) {
  Pipe output;
  Pipe errors;
  const base::Result<StartedProgram> program = start_program(command, output, &errors);
  if (!program) return std::unexpected(program.error());
  return BackgroundProcess(program->id, std::exchange(output.read_end, -1),
                           std::exchange(errors.read_end, -1));
}

std::optional<std::string> BackgroundProcess::next_line(std::chrono::milliseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    if (const auto end_of_line = output_text_.find('\n'); end_of_line != std::string::npos) {
      std::string line = output_text_.substr(0, end_of_line);
      output_text_.erase(0, end_of_line + 1);
      return line;
    }
    const int left_ms = milliseconds_until(deadline);
    if (left_ms <= 0 || output_ < 0) break;
    static_cast<void>(read_available(left_ms));
  }
  // What it complained about may arrive just after its stdout was closed.
  const auto end_of_complaints =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(base::kKubectlEndMs);
  while (output_ < 0 && errors_ >= 0) {
    const int left_ms = milliseconds_until(end_of_complaints);
    if (left_ms <= 0 || !read_available(left_ms)) break;
  }
  return std::nullopt;
}

void BackgroundProcess::drain() {
  for (int reads = 0; reads < kMaxDrainReads && read_available(0); ++reads) output_text_.clear();
  output_text_.clear();
}

/// Waits up to `timeout_ms` until the process prints something, and reads it. Returns whether it
/// read anything or found that a stream has ended.
bool BackgroundProcess::read_available(int timeout_ms) {
  std::array<pollfd, 2> streams{pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0}};
  if (::poll(streams.data(), streams.size(), timeout_ms) <= 0) return false;
  std::array<char, 4'096> buffer{};
  const auto read_from = [&](const pollfd& stream, int& descriptor, std::string& text) {
    if (stream.revents == 0) return;
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
      if (text.size() > base::kMaxKubectlLineBytes && !text.contains('\n')) text += '\n';
    } else if (count == 0 || errno != EAGAIN) {
      Pipe::close_end(descriptor);
    }
  };
  read_from(streams[0], output_, output_text_);
  read_from(streams[1], errors_, error_text_);
  take_complaints();
  return true;
}

void BackgroundProcess::take_complaints() {
  if (errors_ < 0 && !error_text_.empty() && !error_text_.ends_with('\n')) error_text_ += '\n';
  for (auto end_of_line = error_text_.find('\n'); end_of_line != std::string::npos;
       end_of_line = error_text_.find('\n')) {
    if (end_of_line > 0) last_complaint_ = error_text_.substr(0, end_of_line);
    if (first_complaint_.empty()) first_complaint_ = last_complaint_;
    error_text_.erase(0, end_of_line + 1);
  }
}

void BackgroundProcess::forget_complaints() {
  first_complaint_.clear();
  last_complaint_.clear();
}

void BackgroundProcess::end() {
  Pipe::close_end(output_);
  Pipe::close_end(errors_);
  if (group_ <= 0) return;
  ::kill(-group_, SIGTERM);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(base::kKubectlEndMs);
  bool ended = false;
  while (!ended && std::chrono::steady_clock::now() < deadline) {
    ended = ::waitpid(group_, nullptr, WNOHANG) != 0;
    if (!ended) std::this_thread::sleep_for(kEndPoll);
  }
  ::kill(-group_, SIGKILL);  // also what the program has started and left behind
  if (!ended) ::waitpid(group_, nullptr, 0);
  replace_group(group_, 0);
  group_ = -1;
}

}  // namespace snug::ctl
