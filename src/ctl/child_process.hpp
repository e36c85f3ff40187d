// Starts another program (kubectl), reads what it prints, and makes sure that it ends. A background
// process has a process group of its own, which ends with the object, and with snugctl: SIGINT,
// SIGTERM, SIGHUP, SIGQUIT and SIGPIPE kill the group first, and the kernel kills the program if
// snugctl is killed. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "snug/base/result.hpp"

namespace snug::ctl {

struct FinishedProcess {
  int exit_code = 0;
  std::string output;  // what it printed to stdout
};

/// How long a program may run; nullopt: as long as it wants, since it may wait for a person.
using TimeLimit = std::optional<std::chrono::milliseconds>;

/// Whether a program starts with SIGINT and SIGHUP ignored, which a terminal sends to all programs
/// of its foreground group. Programs written in Go go on to ignore these two, and no others.
enum class TerminalSignals : std::uint8_t { kHeeded, kIgnored };

/// Runs the program `command[0]`, which is searched for in PATH, to its end. Its stdin and stderr
/// are those of snugctl, so that it can ask for a login; without a terminal it has a process group,
/// which the signals above kill. What the program leaves behind at its end is not waited for. Fails
/// if it cannot be started, and if it prints more than kMaxKubectlOutputBytes or has not ended
/// within `limit`; then it is killed.
[[nodiscard]] base::Result<FinishedProcess> run_to_end(
    const std::vector<std::string>& command, TimeLimit limit = std::nullopt,
    TerminalSignals signals = TerminalSignals::kHeeded);
/// The same with this text as its stdin, and with its stderr in the output.
[[nodiscard]] base::Result<FinishedProcess> run_with_input(const std::vector<std::string>& command,
                                                           const std::string& input,
                                                           TimeLimit limit = std::nullopt);

class BackgroundProcess {
 public:
  /// Starts the program `command[0]`, which is searched for in PATH, without stdin.
  [[nodiscard]] static base::Result<BackgroundProcess> start(
      const std::vector<std::string>& command);
  /// Ends the process group: SIGTERM, and SIGKILL after kKubectlEndMs.
  ~BackgroundProcess();
  BackgroundProcess(BackgroundProcess&& other) noexcept;
  BackgroundProcess& operator=(BackgroundProcess&& other) noexcept;

  /// Waits for the next line of stdout, without its newline. Nullopt: the process has ended or
  /// closed its stdout, or `limit` is over. At the end of stdout, waits up to kKubectlEndMs for the
  /// end of stderr.
  [[nodiscard]] std::optional<std::string> next_line(std::chrono::milliseconds limit);
  /// Reads what the process has printed, so that it never waits for a reader, and drops the lines
  /// of stdout. Ends also while the process goes on printing.
  void drain();
  /// The first and the last line that it printed to stderr since forget_complaints(); empty if
  /// there is none.
  [[nodiscard]] const std::string& first_complaint() const { return first_complaint_; }
  [[nodiscard]] const std::string& last_complaint() const { return last_complaint_; }
  void forget_complaints();

 private:
  BackgroundProcess(pid_t group, int output, int errors);
  [[nodiscard]] bool read_available(int timeout_ms);
  void take_complaints();
  void end();

  pid_t group_ = -1;  // -1: nothing to end
  int output_ = -1;   // -1: closed
  int errors_ = -1;
  std::string output_text_;  // not returned yet
  std::string error_text_;   // an unfinished line
  std::string first_complaint_;
  std::string last_complaint_;
};

}  // namespace snug::ctl
