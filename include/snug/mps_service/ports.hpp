// The interfaces between the use case of snug-mps and the outside: processes, the folders of the
// daemons, and metrics. Adapters implement the ports, and so do tests. One thread calls them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/mps/mps_files.hpp"

namespace snug::mps_service {

struct Program {
  std::vector<std::string> arguments;    // the first is the path of the program
  std::vector<std::string> environment;  // NAME=value; the program has no other variables
  /// What it reads from standard input: at most 4,096 bytes, the least that a pipe holds.
  std::string input;
  /// Where its output goes, also that to standard error; appended. Empty: Ending has it.
  std::string output_file;
  /// The root folder of the program, by which also the path of the program is meant; empty: this
  /// program's. Needs root.
  std::string root;
  /// Folders that the program, and nobody else, sees at the places of others: {what, where}, both
  /// as this program names them.
  std::vector<std::pair<std::string, std::string>> binds;
};

struct Ending {
  bool is_success = false;  // exit status 0
  std::string how;          // `exit status 1`, `signal 9`
  std::string output;       // at most max_mps_output_bytes; the rest is dropped
};

/// Starts programs, and sees when they end. No call waits for a process to end.
class ProcessPort {
 public:
  virtual ~ProcessPort() = default;

  /// The id of the process, which leads a session of its own. kUnavailable: it cannot be run.
  [[nodiscard]] virtual base::Result<int> start(const Program& program) = 0;
  /// The MPS daemon that listens on the socket in this folder, and was started for it by this user
  /// in this container. kNotFound: none does; clients could have put any other socket there.
  /// kUnavailable: it cannot be told.
  [[nodiscard]] virtual base::Result<int> find_daemon(const std::string& pipe_folder) = 0;
  /// Watches a process that is no child. kNotFound: there is none.
  [[nodiscard]] virtual base::Result<void> adopt(int id) = 0;
  /// How it has ended; nullopt: it runs. Afterwards the id is unknown here, and all other processes
  /// of its group are killed. Of a process that was adopted, how it ended is not known.
  [[nodiscard]] virtual std::optional<Ending> take_ending(int id) = 0;
  /// Sends a signal to the process and all of its group.
  virtual void send(int id, int signal_number) = 0;
  /// Kills the process, and forgets it.
  virtual void abandon(int id) = 0;
};

/// What the files in the folder of the wanted daemons say.
struct WantedFiles {
  mps::WantedDaemons daemons;
  std::set<std::string, std::less<>> unreadable;  // of `daemons`: their namespaces are not known
  std::vector<std::string> problems;  // of these, and of what is ignored; sentences, some of them
};

/// The folders by which snug-agent and snug-mps talk (snug/mps/mps_files.hpp), those of the daemons
/// in them, and the daemons' program.
class DaemonFolderPort {
 public:
  virtual ~DaemonFolderPort() = default;

  /// Makes those folders that all daemons share which are missing. Returns whether the folder of
  /// the wanted daemons was one of them.
  [[nodiscard]] virtual base::Result<bool> prepare() = 0;
  /// The daemons that the agent wants; what else is in the folder is ignored. kTooLarge: there is
  /// so much else that not all of it can be seen.
  [[nodiscard]] virtual base::Result<WantedFiles> wanted() = 0;
  /// The GPUs that have a state, or a folder of a daemon.
  [[nodiscard]] virtual std::set<std::string, std::less<>> known() = 0;

  [[nodiscard]] virtual base::Result<void> write_state(std::string_view uuid,
                                                       const mps::DaemonState& state) = 0;
  virtual void remove_state(std::string_view uuid) = 0;
  /// Makes the folders of a daemon that does not run, and empties that of its pipes, but for the
  /// folders of namespaces: containers have mounted them.
  [[nodiscard]] virtual base::Result<void> prepare_daemon(std::string_view uuid) = 0;
  /// Of a daemon that has ended. The folders of namespaces stay where the next snug-mps is to start
  /// it again: containers have mounted them.
  virtual void remove_pipes(std::string_view uuid, bool keeps_namespaces) = 0;
  /// Writes the configuration of a daemon, whose folders are prepared. Returns its path.
  [[nodiscard]] virtual base::Result<std::string> write_configuration(std::string_view uuid,
                                                                      std::string_view text) = 0;
  /// Empties logs that are longer than max_mps_log_bytes.
  virtual void trim_logs(std::string_view uuid) = 0;

  /// The path, the root and the binds of NVIDIA's control program. kUnavailable: there is none.
  [[nodiscard]] virtual base::Result<Program> control_program() = 0;
  [[nodiscard]] virtual std::string pipe_folder(std::string_view uuid) const = 0;
  [[nodiscard]] virtual std::string log_folder(std::string_view uuid) const = 0;
};

class MpsMetrics {
 public:
  virtual ~MpsMetrics() = default;

  /// How many daemons are in each phase; those that are left out are none.
  virtual void daemons(const std::map<mps::DaemonPhase, std::int64_t>& numbers) = 0;
  virtual void daemon_started() = 0;
  virtual void daemon_failed() = 0;
};

}  // namespace snug::mps_service
