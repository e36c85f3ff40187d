#include "snug/mps_service/supervisor.hpp"

#include <csignal>
#include <utility>

#include "snug/base/agent_limits.hpp"

namespace snug::mps_service {
namespace {

namespace limits = base::agent_limits;
using mps::DaemonAction;
using mps::DaemonHealth;
using mps::DaemonPhase;
using std::chrono::milliseconds;

/// Where the daemon looks for nvidia-cuda-mps-server.
constexpr std::string_view kPath = "PATH=/usr/bin:/bin:/usr/sbin:/sbin";
constexpr std::string_view kDaemonLog = "control.log";

/// Why a command failed; empty: it did not.
std::string failure_of(const std::optional<Ending>& ending) {
  if (!ending) return "no answer within " + std::to_string(limits::mps_command_ms) + " ms";
  if (ending->is_success) return {};
  std::string text = ending->output.substr(0, ending->output.find('\n'));
  return text.empty() ? ending->how : ending->how + ": " + text;
}

DaemonHealth health_of(bool has_fault) {
  return has_fault ? DaemonHealth::kFaulty : DaemonHealth::kHealthy;
}

std::string_view done_text(mps::NamespaceAction action) {
  switch (action) {
    case mps::NamespaceAction::kCreate:
      return "made";
    case mps::NamespaceAction::kSetLimits:
      return "limited";
    case mps::NamespaceAction::kDelete:
      return "removed";
  }
  return {};
}

}  // namespace

Supervisor::Daemon& Supervisor::daemon_of(const std::string& uuid) {
  const auto known = daemons_.find(uuid);
  if (known != daemons_.end()) return known->second;
  return daemons_
      .try_emplace(uuid, Daemon{.keeper = mps::DaemonKeeper(mps::start_hint(protocol_)),
                                .namespaces = {},
                                .process = {},
                                .command = {},
                                .written = {}})
      .first->second;
}

const mps::Namespaces& Supervisor::namespaces_of(const std::string& uuid) const {
  static const mps::Namespaces none;
  const auto daemon = wanted_.find(uuid);
  return daemon == wanted_.end() ? none : daemon->second;
}

void Supervisor::adopt_daemons(base::TimePoint now) {
  for (const std::string& uuid : parts_.folders.known()) {
    Daemon& daemon = daemon_of(uuid);
    if (const auto adopted = adopt(uuid, daemon); adopted && *adopted) daemon.keeper.started(now);
  }
}

void Supervisor::tick(base::TimePoint now) {
  if (now >= next_look_ && !give_up_) look(now);
  // What is not known as wanted would be ended.
  if (!has_looked_ && !give_up_) return set_problem(look_problem_);
  state_problem_.clear();
  for (auto each = daemons_.begin(); each != daemons_.end();) {
    each = step(each->first, each->second, now) ? std::next(each) : daemons_.erase(each);
  }
  std::map<DaemonPhase, std::int64_t> numbers;
  for (const auto& [uuid, daemon] : daemons_) ++numbers[daemon.keeper.state().phase];
  parts_.metrics.daemons(numbers);
  set_problem(look_problem_.empty() ? state_problem_ : look_problem_);
}

void Supervisor::stop(base::TimePoint now) {
  give_up_ =
      now + milliseconds(limits::mps_quit_ms + limits::mps_terminate_ms + limits::mps_kill_ms);
  wanted_.clear();
}

bool Supervisor::is_stopped(base::TimePoint now) const {
  return give_up_ && (daemons_.empty() || now >= *give_up_);
}

std::string Supervisor::why_not_ready() const {
  const base::MutexLock lock(mutex_);
  return problem_;
}

void Supervisor::look(base::TimePoint now) {
  next_look_ = now + milliseconds(limits::mps_poll_ms);
  const auto looked = look_for_wanted(now);
  look_problem_ = looked ? std::string() : looked.error().message;
}

/// After an error, what was wanted before still is.
base::Result<void> Supervisor::look_for_wanted(base::TimePoint now) {
  const auto was_missing = parts_.folders.prepare();
  if (!was_missing) return std::unexpected(was_missing.error());
  if (*was_missing) {
    kept_ = wanted_;
    kept_until_ = now + milliseconds(limits::mps_keep_ms);
    missing_.clear();
  }
  auto wanted = parts_.folders.wanted();
  if (!wanted) return std::unexpected(wanted.error());
  std::set<std::string, std::less<>> problems(wanted->problems.begin(), wanted->problems.end());
  for (const std::string& problem : problems) {
    if (!said_.contains(problem)) parts_.log.write(service::LogLevel::kWarn, problem);
  }
  has_looked_ = true;
  said_ = std::move(problems);
  for (const std::string& uuid : wanted->unreadable) {
    if (const auto daemon = wanted->daemons.find(uuid); daemon != wanted->daemons.end())
      daemon->second = namespaces_of(uuid);
  }
  keep_withdrawn(wanted->daemons, now);
  wanted_ = std::move(wanted->daemons);
  if (now < kept_until_) wanted_.insert(kept_.begin(), kept_.end());
  for (const auto& [uuid, namespaces] : wanted_) daemon_of(uuid);
  return {};
}

/// Keeps a daemon whose file is gone for less than mps_withdraw_ms: somebody may be removing the
/// folder file by file.
void Supervisor::keep_withdrawn(mps::WantedDaemons& found, base::TimePoint now) {
  std::erase_if(missing_, [&found](const auto& entry) { return found.contains(entry.first); });
  for (const auto& [uuid, namespaces] : wanted_) {
    if (found.contains(uuid)) continue;
    const base::TimePoint since = missing_.try_emplace(uuid, now).first->second;
    if (now - since < milliseconds(limits::mps_withdraw_ms)) found.emplace(uuid, namespaces);
  }
  std::erase_if(missing_, [this](const auto& entry) { return !wanted_.contains(entry.first); });
}

bool Supervisor::step(const std::string& uuid, Daemon& daemon, base::TimePoint now) {
  take_endings(uuid, daemon, now);
  const bool is_wanted = wanted_.contains(uuid);
  DaemonAction action = DaemonAction::kNone;
  while ((action = daemon.keeper.next(now, is_wanted)) != DaemonAction::kNone) {
    if (action == DaemonAction::kForget) {
      parts_.folders.remove_pipes(uuid, give_up_.has_value());
      parts_.folders.remove_state(uuid);  // last: that it is gone says that nothing is left
      return false;
    }
    perform(action, uuid, daemon, now);
  }
  run_namespace_step(uuid, daemon, now);
  publish(uuid, daemon, now);
  return true;
}

void Supervisor::take_endings(const std::string& uuid, Daemon& daemon, base::TimePoint now) {
  if (daemon.process) {
    if (const auto ending = parts_.processes.take_ending(*daemon.process)) {
      say(service::LogLevel::kInfo, uuid, "the MPS daemon has ended: " + ending->how);
      daemon.process.reset();
      // Its end would count as an answer of the next daemon.
      if (daemon.command) parts_.processes.abandon(daemon.command->process);
      daemon.command.reset();
      daemon.namespaces.forget();
      daemon.keeper.ended(now, ending->how);
    }
  }
  if (!daemon.command) return;
  const Command command = *daemon.command;
  const auto ending = parts_.processes.take_ending(command.process);
  if (!ending && now < command.deadline) return;
  if (!ending) parts_.processes.abandon(command.process);
  daemon.command.reset();
  take_answer(uuid, daemon, command, ending, now);
}

void Supervisor::take_answer(const std::string& uuid, Daemon& daemon, const Command& command,
                             const std::optional<Ending>& ending, base::TimePoint now) {
  if (command.step) return take_namespace_step(uuid, daemon, *command.step, ending, now);
  if (!command.is_question) return;
  const bool has_answered = ending && ending->is_success;
  if (command.is_about_servers) {
    return daemon.keeper.answered(
        now, has_answered ? health_of(mps::has_fault(ending->output)) : DaemonHealth::kAnswers);
  }
  parts_.folders.trim_logs(uuid);
  if (!has_answered) return daemon.keeper.answered(now, DaemonHealth::kSilent);
  const auto answer = mps::read_answer(protocol_, ending->output);
  if (!answer) return daemon.keeper.answered(now, DaemonHealth::kSilent);
  daemon.namespaces.listed(answer->namespaces, namespaces_of(uuid));
  if (!answer->servers.empty()) return ask_servers(uuid, daemon, answer->servers, now);
  daemon.keeper.answered(now, health_of(answer->has_fault));
}

/// For the keeper it is the same question: its answer comes later.
void Supervisor::ask_servers(const std::string& uuid, Daemon& daemon,
                             const std::vector<std::string>& servers, base::TimePoint now) {
  const Command command{.is_question = true,
                        .is_about_servers = true,
                        .deadline = now + milliseconds(limits::mps_command_ms)};
  if (!run_command(uuid, daemon, mps::server_question(servers), command))
    daemon.keeper.answered(now, DaemonHealth::kAnswers);
}

void Supervisor::take_namespace_step(const std::string& uuid, Daemon& daemon,
                                     const mps::NamespaceStep& step,
                                     const std::optional<Ending>& ending, base::TimePoint now) {
  // A refusal is an answer too, also to a question that became due meanwhile.
  daemon.keeper.answered(now, ending ? DaemonHealth::kAnswers : DaemonHealth::kSilent);
  const std::string failure = failure_of(ending);
  if (!daemon.namespaces.done(step, failure)) return;
  // A namespace with clients cannot be removed yet.
  const bool is_wrong = !failure.empty() && step.action != mps::NamespaceAction::kDelete;
  const std::string what(done_text(step.action));
  say(is_wrong ? service::LogLevel::kWarn : service::LogLevel::kInfo, uuid,
      "the namespace " + step.name +
          (failure.empty() ? " is " + what : " cannot be " + what + ": " + failure));
}

void Supervisor::run_namespace_step(const std::string& uuid, Daemon& daemon, base::TimePoint now) {
  if (protocol_ == mps::Protocol::k2 || daemon.command) return;
  if (daemon.keeper.state().phase != DaemonPhase::kReady) return;
  const auto step = daemon.namespaces.next(namespaces_of(uuid));
  if (!step) return;
  daemon.namespaces.begun(*step);
  if (!run_command(uuid, daemon, mps::command_of(*step),
                   {.step = step, .deadline = now + milliseconds(limits::mps_command_ms)})) {
    (void)daemon.namespaces.done(*step, "the control program cannot be run");
  }
}

void Supervisor::perform(DaemonAction action, const std::string& uuid, Daemon& daemon,
                         base::TimePoint now) {
  switch (action) {
    case DaemonAction::kStart:
      start(uuid, daemon, now);
      break;
    case DaemonAction::kAsk:
      if (daemon.command && daemon.command->step) break;  // its end is the answer
      if (!run_command(
              uuid, daemon, mps::question(protocol_),
              {.is_question = true, .deadline = now + milliseconds(limits::mps_command_ms)})) {
        daemon.keeper.answered(now, DaemonHealth::kSilent);
      }
      break;
    case DaemonAction::kQuit:
      say(service::LogLevel::kInfo, uuid, "the MPS daemon is asked to quit");
      // If it cannot be asked, it is terminated when it has not ended in time.
      (void)run_command(uuid, daemon, mps::quit_command(protocol_),
                        {.deadline = now + milliseconds(limits::mps_quit_ms)});
      break;
    case DaemonAction::kTerminate:
    case DaemonAction::kKill: {
      const int signal_number = action == DaemonAction::kKill ? SIGKILL : SIGTERM;
      say(service::LogLevel::kWarn, uuid,
          "the MPS daemon gets signal " + std::to_string(signal_number));
      if (daemon.process) parts_.processes.send(*daemon.process, signal_number);
      break;
    }
    case DaemonAction::kNone:
    case DaemonAction::kForget:
      break;
  }
}

void Supervisor::start(const std::string& uuid, Daemon& daemon, base::TimePoint now) {
  const auto adopted = adopt(uuid, daemon);
  if (!adopted) return daemon.keeper.start_failed(now, adopted.error().message);
  if (*adopted) return daemon.keeper.started(now);
  auto program = make_program(uuid);
  if (!program) return daemon.keeper.start_failed(now, program.error().message);
  if (const auto made = prepare_start(uuid, *program); !made)
    return daemon.keeper.start_failed(now, made.error().message);
  program->output_file = parts_.folders.log_folder(uuid) + "/" + std::string(kDaemonLog);
  const auto process = parts_.processes.start(*program);
  if (!process) return daemon.keeper.start_failed(now, process.error().message);
  daemon.process = *process;
  daemon.keeper.started(now);
  parts_.metrics.daemon_started();
  say(service::LogLevel::kInfo, uuid, "the MPS daemon is started");
}

/// Makes the folders and the configuration of a daemon, and adds its last arguments.
base::Result<void> Supervisor::prepare_start(const std::string& uuid, Program& program) {
  if (auto prepared = parts_.folders.prepare_daemon(uuid); !prepared) return prepared;
  std::string configuration;
  if (protocol_ == mps::Protocol::k3) {
    const auto written = parts_.folders.write_configuration(
        uuid, mps::write_configuration(uuid, namespaces_of(uuid)));
    if (!written) return std::unexpected(written.error());
    configuration = *written;
  }
  for (std::string& argument : mps::daemon_arguments(protocol_, configuration))
    program.arguments.push_back(std::move(argument));
  return {};
}

/// False: there is no daemon.
base::Result<bool> Supervisor::adopt(const std::string& uuid, Daemon& daemon) {
  const auto id = parts_.processes.find_daemon(parts_.folders.pipe_folder(uuid));
  if (!id && id.error().code == base::ErrorCode::kNotFound) return false;
  if (!id) return std::unexpected(id.error());
  if (const auto adopted = parts_.processes.adopt(*id); !adopted) {
    if (adopted.error().code == base::ErrorCode::kNotFound) return false;
    return std::unexpected(adopted.error());
  }
  daemon.process = *id;
  say(service::LogLevel::kInfo, uuid, "an MPS daemon that runs already is adopted");
  return true;
}

/// The control program, without arguments: so it reads commands to the daemon of the GPU.
base::Result<Program> Supervisor::make_program(const std::string& uuid) {
  auto program = parts_.folders.control_program();
  if (!program) return program;
  program->environment = {std::string(kPath),
                          "CUDA_MPS_PIPE_DIRECTORY=" + parts_.folders.pipe_folder(uuid),
                          "CUDA_MPS_LOG_DIRECTORY=" + parts_.folders.log_folder(uuid)};
  // With the protocol 3 the configuration says which GPU the server may use.
  if (protocol_ == mps::Protocol::k2)
    program->environment.emplace_back("CUDA_VISIBLE_DEVICES=" + uuid);
  return program;
}

bool Supervisor::run_command(const std::string& uuid, Daemon& daemon,
                             const mps::ControlCommand& text, Command command) {
  if (daemon.command) parts_.processes.abandon(daemon.command->process);
  daemon.command.reset();
  auto program = make_program(uuid);
  if (!program) return false;
  program->arguments.insert(program->arguments.end(), text.arguments.begin(), text.arguments.end());
  program->input = text.input;
  const auto process = parts_.processes.start(*program);
  if (!process) return false;
  command.process = *process;
  daemon.command = command;
  return true;
}

mps::DaemonState Supervisor::state_of(const std::string& uuid, const Daemon& daemon) const {
  mps::DaemonState state = daemon.keeper.state();
  if (protocol_ == mps::Protocol::k3 && state.phase == DaemonPhase::kReady)
    state.namespaces = daemon.namespaces.states(namespaces_of(uuid));
  return state;
}

void Supervisor::publish(const std::string& uuid, Daemon& daemon, base::TimePoint now) {
  const mps::DaemonState state = state_of(uuid, daemon);
  for (; daemon.counted_failures < daemon.keeper.failures(); ++daemon.counted_failures)
    parts_.metrics.daemon_failed();
  const bool has_changed = daemon.written != state;
  const bool has_news = !daemon.written || daemon.written->phase != state.phase ||
                        daemon.written->reason != state.reason;
  if (!has_changed && now < daemon.next_write) return;
  if (const auto written = parts_.folders.write_state(uuid, state); !written) {
    state_problem_ = written.error().message;
    daemon.next_write = now;  // at the next tick
    return;
  }
  daemon.written = state;
  daemon.next_write = now + milliseconds(limits::mps_state_ms);
  if (!has_news || state.phase == DaemonPhase::kStarting) return;
  const bool has_failed = state.phase == DaemonPhase::kFailed;
  say(has_failed ? service::LogLevel::kWarn : service::LogLevel::kInfo, uuid,
      std::string(mps::kDaemonPhaseNames[state.phase]) +
          (has_failed ? ": " + state.reason : std::string()));
}

void Supervisor::set_problem(const std::string& problem) {
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    is_new = problem != problem_ && !problem.empty();
    problem_ = problem;
  }
  if (is_new) parts_.log.write(service::LogLevel::kError, problem);
}

void Supervisor::say(service::LogLevel level, const std::string& uuid, std::string_view message) {
  parts_.log.write(level, message, {{"gpu", uuid}});
}

}  // namespace snug::mps_service
