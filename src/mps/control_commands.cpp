#include "snug/mps/control_commands.hpp"

#include "snug/base/agent_limits.hpp"

namespace snug::mps {
namespace {

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
  // Every version of the daemon answers it, with a number and at once.
  if (protocol == Protocol::k2) return {{}, "get_default_active_thread_percentage\n"};
  return namespace_command({"list", "--format=csv,noheader"});
}

/// A server that cannot run, such as one whose GPU there is not, has no default namespace.
std::optional<NamespaceKeeper::Names> read_answer(Protocol protocol, std::string_view output) {
  NamespaceKeeper::Names names;
  if (protocol == Protocol::k2) {
    if (output.empty() || output[0] < '0' || output[0] > '9') return std::nullopt;
    return names;
  }
  bool has_default = false;
  while (!output.empty()) {
    const std::string_view line = output.substr(0, output.find('\n'));
    output.remove_prefix(std::min(output.size(), line.size() + 1));
    const auto comma = line.find(',');
    if (comma == line.npos) continue;
    const std::string_view rest = line.substr(comma + 1);
    if (without_blanks(rest.substr(0, rest.find(','))) != kServerName) continue;
    const std::string_view name = without_blanks(line.substr(0, comma));
    if (name == kDefaultNamespace) has_default = true;
    if (is_namespace_name(name)) names.emplace(name);
  }
  if (!has_default) return std::nullopt;
  return names;
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
