// Runs the MPS daemons that the agent wants: does for each GPU what its DaemonKeeper says, and
// writes its state. tick() never waits for a daemon.
//
// Daemons that an earlier snug-mps has left are adopted, so that their clients go on: a daemon is
// found by its socket, watched by its process id, and ends by `quit` as any other. In a container,
// whose processes end with its first one, there are none.
//
// Folders that somebody removes are made again. What was wanted stays wanted for mps_keep_ms then,
// until the agent has asked again, and daemons without their sockets are started anew. So that this
// also holds if the files go before the folder, a daemon that is no longer asked for is ended only
// after mps_withdraw_ms.
//
// With the protocol 3 each daemon also gets the namespaces that the agent wants, one command after
// the other, while it is ready (mps/namespace_keeper.hpp).
//
// One thread calls all functions but why_not_ready().
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snug/base/clock.hpp"
#include "snug/base/mutex.hpp"
#include "snug/mps/control_commands.hpp"
#include "snug/mps/daemon_keeper.hpp"
#include "snug/mps/namespace_keeper.hpp"
#include "snug/mps_service/ports.hpp"
#include "snug/service/ports.hpp"

namespace snug::mps_service {

class Supervisor {
 public:
  struct Parts {
    ProcessPort& processes;
    DaemonFolderPort& folders;
    MpsMetrics& metrics;
    service::Log& log;
  };
  Supervisor(const Parts& parts, mps::Protocol protocol) : parts_(parts), protocol_(protocol) {}

  /// Finds what an earlier snug-mps has left.
  void adopt_daemons(base::TimePoint now);
  /// Does what is due at `now`.
  void tick(base::TimePoint now);
  /// From now on no daemon is wanted.
  void stop(base::TimePoint now);
  /// After stop(): whether no daemon is left, or those that are left do not end.
  [[nodiscard]] bool is_stopped(base::TimePoint now) const;
  /// Why daemons may not be as the agent wants; empty: they are, or their states say why not.
  [[nodiscard]] std::string why_not_ready() const;

 private:
  struct Command {
    int process = 0;
    bool is_question = false;
    bool is_about_servers = false;  // the second question
    std::optional<mps::NamespaceStep> step = std::nullopt;
    base::TimePoint deadline;
  };
  struct Daemon {
    mps::DaemonKeeper keeper;
    mps::NamespaceKeeper namespaces;
    std::optional<int> process;
    std::optional<Command> command;
    std::optional<mps::DaemonState> written;
    base::TimePoint next_write{};
    std::int64_t counted_failures = 0;
  };

  Daemon& daemon_of(const std::string& uuid);
  [[nodiscard]] const mps::Namespaces& namespaces_of(const std::string& uuid) const;
  void look(base::TimePoint now);
  [[nodiscard]] base::Result<void> look_for_wanted(base::TimePoint now);
  void keep_withdrawn(mps::WantedDaemons& found, base::TimePoint now);
  /// Whether the daemon is still of interest.
  bool step(const std::string& uuid, Daemon& daemon, base::TimePoint now);
  void take_endings(const std::string& uuid, Daemon& daemon, base::TimePoint now);
  void take_answer(const std::string& uuid, Daemon& daemon, const Command& command,
                   const std::optional<Ending>& ending, base::TimePoint now);
  void ask_servers(const std::string& uuid, Daemon& daemon, const std::vector<std::string>& servers,
                   base::TimePoint now);
  void take_namespace_step(const std::string& uuid, Daemon& daemon, const mps::NamespaceStep& step,
                           const std::optional<Ending>& ending, base::TimePoint now);
  void run_namespace_step(const std::string& uuid, Daemon& daemon, base::TimePoint now);
  void perform(mps::DaemonAction action, const std::string& uuid, Daemon& daemon,
               base::TimePoint now);
  void start(const std::string& uuid, Daemon& daemon, base::TimePoint now);
  [[nodiscard]] base::Result<bool> adopt(const std::string& uuid, Daemon& daemon);
  [[nodiscard]] base::Result<Program> make_program(const std::string& uuid);
  [[nodiscard]] base::Result<void> prepare_start(const std::string& uuid, Program& program);
  [[nodiscard]] bool run_command(const std::string& uuid, Daemon& daemon,
                                 const mps::ControlCommand& text, Command command);
  [[nodiscard]] mps::DaemonState state_of(const std::string& uuid, const Daemon& daemon) const;
  void publish(const std::string& uuid, Daemon& daemon, base::TimePoint now);
  void set_problem(const std::string& problem);
  void say(service::LogLevel level, const std::string& uuid, std::string_view message);

  const Parts parts_;
  const mps::Protocol protocol_;
  std::map<std::string, Daemon, std::less<>> daemons_;
  mps::WantedDaemons wanted_;
  std::map<std::string, base::TimePoint, std::less<>> missing_;  // of `wanted_`, since when
  mps::WantedDaemons kept_;  // wanted until kept_until_, whatever the folder has
  base::TimePoint kept_until_ = base::TimePoint::min();
  std::set<std::string, std::less<>> said_;  // problems of files in the folder wanted
  base::TimePoint next_look_ = base::TimePoint::min();
  bool has_looked_ = false;
  std::string look_problem_;                // of the last look
  std::string state_problem_;               // of the last tick: why a state was not written
  std::optional<base::TimePoint> give_up_;  // set by stop()
  mutable base::Mutex mutex_;
  std::string problem_ SNUG_GUARDED_BY(mutex_) = "the folder of wanted daemons was not read yet";
};

}  // namespace snug::mps_service
