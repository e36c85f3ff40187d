#include "snug/mps/control_commands.hpp"

#include <algorithm>

#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::mps {
namespace {

/// The state of a server that a fatal error of a client blocks: it takes no new clients, and is
/// ACTIVE again when all of its clients have ended. Another state is INITIALIZING, in which the
/// daemon keeps new clients waiting (https://docs.nvidia.com/deploy/mps/latest/architecture.html).
constexpr std::string_view kFaultState = "FAULT";
/// The namespace of clients that choose none. The daemon makes it with the server.
constexpr std::string_view kDefaultNamespace = "default";

std::string server_argument() { return "--server=" + std::string(kServerName); }

std::string memory_text(const NamespaceLimits& limits) {
  return std::to_string(limits.memory.value) + "M";
}

ControlCommand namespace_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"-p", "3", "namespace"});
  arguments.push_back(server_argument());
  return {std::move(arguments), ""};
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Takes what is before the separator, and the separator, from the text.
std::string_view take_field(std::string_view& text, char separator) {
  const std::string_view field = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), field.size() + 1));
  return without_blanks(field);
}

/// A number, and a line with the process id of each server, of which there is none before the first
/// client.
std::optional<DaemonAnswer> read_servers(std::string_view output) {
  const std::string_view percentage = take_field(output, '\n');
  if (percentage.empty() || percentage[0] < '0' || percentage[0] > '9') return std::nullopt;
  DaemonAnswer answer;
  while (!output.empty() &&
         answer.servers.size() < static_cast<std::size_t>(base::agent_limits::max_mps_servers)) {
    const std::string_view server = take_field(output, '\n');
    const auto id = base::parse_integer(server);
    if (id && *id > 0) answer.servers.emplace_back(server);
  }
  return answer;
}

/// A line for each namespace, with the columns name, server, server-status and others
/// (https://docs.nvidia.com/deploy/mps/latest/mpsv3-interface.html). Of the states of a server only
/// `Ready` is documented. A server that cannot run, such as one whose GPU there is not, has no
/// default namespace.
std::optional<DaemonAnswer> read_namespaces(std::string_view output) {
  DaemonAnswer answer;
  bool has_default = false;
  while (!output.empty()) {
    std::string_view line = take_field(output, '\n');
    const std::string_view name = take_field(line, ',');
    if (take_field(line, ',') != kServerName) continue;
    const auto is_same = [](char a, char b) { return a == b || a == b + ('a' - 'A'); };
    if (std::ranges::equal(take_field(line, ','), kFaultState, is_same)) answer.has_fault = true;
    if (name == kDefaultNamespace) has_default = true;
    if (is_namespace_name(name)) answer.namespaces.emplace(name);
  }
  if (!has_default) return std::nullopt;
  return answer;
}

}  // namespace

std::vector<std::string> daemon_arguments(Protocol protocol,
                                          const std::string& configuration_file) {
  if (protocol == Protocol::k2) return {"-f"};
  // In multi-user mode the server of root serves the clients of all users.
  return {"-f", "-p", "3", "-m", "-a", configuration_file};
}

std::string write_configuration(std::string_view gpu_uuid, const Namespaces& namespaces) {
  const std::string server = "servers." + std::string(kServerName);
  std::string text = "schema_version = \"1.0\"\n\n[" + server + "]\nallowed_devices = \"" +
                     std::string(gpu_uuid) + "\"\nuid = 0\n";
  for (const auto& [name, limits] : namespaces) {
    text.append("\n[").append(server).append(".namespaces.").append(name).append("]\n");
    if (!limits) continue;
    text += "pinned_memory_limit = \"" + memory_text(*limits) +
            "\"\nactive_thread_percentage = \"" + std::to_string(limits->thread_percent) + "\"\n";
  }
  return text;
}

ControlCommand question(Protocol protocol) {
  // Every version of the daemon answers both at once.
  if (protocol == Protocol::k2)
    return {{}, "get_default_active_thread_percentage\nget_server_list\n"};
  return namespace_command({"list", "--format=csv,noheader"});
}

std::optional<DaemonAnswer> read_answer(Protocol protocol, std::string_view output) {
  return protocol == Protocol::k2 ? read_servers(output) : read_namespaces(output);
}

ControlCommand server_question(const std::vector<std::string>& servers) {
  ControlCommand command;
  for (const std::string& server : servers)
    command.input.append("get_server_status ").append(server).append("\n");
  return command;
}

/// The daemon of driver 550 answers with the state alone on a line, and of a server that has ended
/// since with `Server 7 not found`. That of driver 535 does not know the command.
bool has_fault(std::string_view output) {
  while (!output.empty()) {
    if (take_field(output, '\n') == kFaultState) return true;
  }
  return false;
}

ControlCommand quit_command(Protocol protocol) {
  if (protocol == Protocol::k3) return {{"-p", "3", "-q"}, ""};
  return {{}, "quit -t " + std::to_string(base::agent_limits::mps_quit_clients_s) + "\n"};
}

ControlCommand command_of(const NamespaceStep& step) {
  switch (step.action) {
    case NamespaceAction::kCreate:
      return namespace_command({"create", step.name});
    case NamespaceAction::kSetLimits:
      return namespace_command(
          {"set", step.name, "--pinned-memory-limit=" + memory_text(step.limits),
           "--active-thread-percentage=" + std::to_string(step.limits.thread_percent)});
    case NamespaceAction::kDelete:
      // Without --force: one whose clients still run goes after them.
      return namespace_command({"delete", step.name});
  }
  return {};
}

std::string start_hint(Protocol protocol) {
  if (protocol == Protocol::k2) return {};
  return "; see its log; --protocol=3 of snug-mps needs the driver 615 or later";
}

}  // namespace snug::mps
