// Fakes of the ports of snug-mps: MPS daemons that answer as long as their socket is there, and
// their folders in memory.
#pragma once

#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "snug/mps_service/ports.hpp"

namespace snug {

class FakeDaemonFolders final : public mps_service::DaemonFolderPort {
 public:
  using Uuids = std::set<std::string, std::less<>>;

  base::Result<bool> prepare() override {
    if (!prepared) return std::unexpected(prepared.error());
    return std::exchange(removed, false);
  }
  base::Result<mps_service::WantedFiles> wanted() override {
    if (!wanted_error.empty()) return base::fail(base::ErrorCode::kUnavailable, wanted_error);
    return wanted_daemons;
  }
  Uuids known() override { return known_daemons; }
  base::Result<void> write_state(std::string_view uuid, const mps::DaemonState& state) override {
    if (!writable) return base::fail(base::ErrorCode::kUnavailable, "state: cannot be created");
    states[std::string(uuid)] = mps::write_state(state);
    ++writes;
    return {};
  }
  void remove_state(std::string_view uuid) override { states.erase(std::string(uuid)); }
  base::Result<void> prepare_daemon(std::string_view uuid) override {
    daemon_folders.emplace(uuid);
    return {};
  }
  void remove_pipes(std::string_view uuid, bool keeps_namespaces) override {
    emptied.emplace(uuid);
    if (keeps_namespaces) kept.emplace(uuid);
  }
  base::Result<std::string> write_configuration(std::string_view uuid,
                                                std::string_view text) override {
    configurations[std::string(uuid)] = text;
    return "/mps/" + std::string(uuid) + "/mps.toml";
  }
  void trim_logs(std::string_view) override {}
  base::Result<mps_service::Program> control_program() override {
    if (!program_error.empty()) return base::fail(base::ErrorCode::kUnavailable, program_error);
    return mps_service::Program{.arguments = {"/usr/bin/control"}, .root = "/host"};
  }
  std::string pipe_folder(std::string_view uuid) const override {
    return "/mps/" + std::string(uuid) + "/pipe";
  }
  std::string log_folder(std::string_view uuid) const override {
    return "/mps/" + std::string(uuid) + "/log";
  }
  void want(const Uuids& uuids) {
    wanted_daemons.daemons.clear();
    for (const std::string& uuid : uuids) wanted_daemons.daemons[uuid];
  }

  base::Result<void> prepared;
  bool removed = false;  // the folder of the wanted daemons, since the last prepare()
  mps_service::WantedFiles wanted_daemons;
  std::string wanted_error;
  std::string program_error;
  bool writable = true;
  Uuids known_daemons;
  Uuids daemon_folders;
  Uuids emptied;
  Uuids kept;  // of these, the namespaces' folders were not removed
  std::map<std::string, std::string> states;
  std::map<std::string, std::string> configurations;
  int writes = 0;
};

class FakeDaemonProcesses final : public mps_service::ProcessPort {
 public:
  base::Result<int> start(const mps_service::Program& program) override {
    const int id = next_id_++;
    const std::string pipes = variable(program, "CUDA_MPS_PIPE_DIRECTORY");
    if (program.arguments.size() > 1 && program.arguments[1] == "-f") {
      started.push_back(program);
      daemons[pipes] = id;
      running.insert(id);
      return id;
    }
    const auto daemon = daemons.find(pipes);
    const bool answers = daemon != daemons.end() && !silent && !stubborn;
    const bool is_about_servers = program.input.starts_with("get_server_status");
    looks_left_[id] = is_about_servers && servers_silent ? 1'000 : looks_needed;
    endings_[id] = {.is_success = answers,
                    .how = "exit status",
                    .output = answers ? run_protocol_2(program.input) : ""};
    const bool is_quit = program.input.starts_with("quit") || program.arguments.back() == "-q";
    if (program.arguments.size() > 1 && !is_quit)
      endings_[id] = run_protocol_3(program.arguments, answers);
    if (is_quit) quits.push_back(pipes);
    if (is_quit && answers) end(daemon->second, "exit status 0");
    return id;
  }
  base::Result<int> find_daemon(const std::string& pipe_folder) override {
    const auto daemon = daemons.find(pipe_folder);
    if (daemon == daemons.end()) return base::fail(base::ErrorCode::kNotFound, "no daemon");
    return daemon->second;
  }
  base::Result<void> adopt(int id) override {
    adopted.push_back(id);
    return {};
  }
  std::optional<mps_service::Ending> take_ending(int id) override {
    if (endings_.contains(id) && looks_left_[id]-- > 0) return std::nullopt;
    const auto ending = endings_.extract(id);
    if (ending.empty()) return std::nullopt;
    return std::move(ending.mapped());
  }
  void send(int id, int signal_number) override {
    signals.emplace_back(id, signal_number);
    if (signal_number == SIGKILL || !stubborn) end(id, "signal " + std::to_string(signal_number));
  }
  void abandon(int id) override { abandoned += endings_.erase(id); }

  /// The daemon ends.
  void end(int id, std::string how) {
    if (immortal || running.erase(id) == 0) return;
    std::erase_if(daemons, [id](const auto& daemon) { return daemon.second == id; });
    endings_[id] = {.how = std::move(how)};
  }

  std::vector<mps_service::Program> started;  // the daemons
  std::map<std::string, int> daemons;         // those whose socket is there, by their pipe folder
  std::set<int> running;
  std::vector<std::string> quits;
  std::vector<int> adopted;
  std::vector<std::pair<int, int>> signals;
  std::size_t abandoned = 0;        // processes that had not ended
  int looks_needed = 0;             // until a command that starts now is seen to have ended
  std::vector<std::string> inputs;  // of the protocol 2
  std::string servers;              // what a daemon with the protocol 2 answers about its servers
  std::string server_state = "Ready";  // of all of them
  std::vector<std::string> commands;   // of the protocol 3, but `list`
  std::set<std::string> namespaces;    // of the only daemon
  std::string refused;                 // how the names in commands that fail begin
  std::string refusal = "no room\nmore\n";
  bool silent = false;          // no daemon answers
  bool servers_silent = false;  // nor about the states of its servers
  bool stubborn = false;        // nor does it end, but by SIGKILL
  bool immortal = false;        // nor by that

 private:
  static std::string variable(const mps_service::Program& program, std::string_view name) {
    for (const std::string& each : program.environment) {
      if (each.starts_with(std::string(name) + "=")) return each.substr(name.size() + 1);
    }
    return {};
  }

  std::string run_protocol_2(const std::string& input) {
    inputs.push_back(input);
    return input.starts_with("get_server_status") ? server_state + "\n" : "100.0\n" + servers;
  }

  mps_service::Ending run_protocol_3(const std::vector<std::string>& arguments, bool answers) {
    if (!answers) return {.how = "exit status 1", .output = ""};
    const std::string& verb = arguments.at(4);
    if (verb == "list") {
      std::string output = "default,snug," + server_state + ",-,-,0,/x\n";
      for (const std::string& name : namespaces) output += name + ",snug,Ready,-,-,0,/x\n";
      return {.is_success = true, .how = "exit status 0", .output = output};
    }
    std::string text = verb;
    for (std::size_t i = 5; i < arguments.size(); ++i) text += " " + arguments[i];
    commands.push_back(text);
    const std::string& name = arguments.at(5);
    if (!refused.empty() && name.starts_with(refused))
      return {.how = "exit status 1", .output = refusal};
    if (verb == "create") namespaces.insert(name);
    if (verb == "delete") namespaces.erase(name);
    return {.is_success = true, .how = "exit status 0", .output = ""};
  }

  std::map<int, mps_service::Ending> endings_;
  std::map<int, int> looks_left_;  // until its end is seen
  int next_id_ = 1000;
};

class FakeMpsMetrics final : public mps_service::MpsMetrics {
 public:
  void daemons(const std::map<mps::DaemonPhase, std::int64_t>& now) override { numbers = now; }
  void daemon_started() override { ++starts; }
  void daemon_failed() override { ++failures; }

  std::map<mps::DaemonPhase, std::int64_t> numbers;
  int starts = 0;
  int failures = 0;
};

}  // namespace snug
