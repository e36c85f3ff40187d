// What NVIDIA's control program is called with, and what it answers, for both protocols of MPS:
// all that Snug assumes about its command line (docs/decisions/0039-mps-namespaces.md). Pure;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/enum_names.hpp"
#include "snug/mps/mps_files.hpp"
#include "snug/mps/namespace_keeper.hpp"

namespace snug::mps {

enum class Protocol : std::uint8_t {
  k2,  // clients use the pipe folder of the daemon, and choose their limits
  k3,  // clients use the folder of a namespace, which limits them; driver 615 or later
};

inline constexpr base::EnumNames kProtocolNames{
    std::array{base::EnumName{Protocol::k2, "2"}, base::EnumName{Protocol::k3, "3"}}};

/// Arguments of the program, and what it reads from standard input.
struct ControlCommand {
  std::vector<std::string> arguments;
  std::string input;

  friend bool operator==(const ControlCommand&, const ControlCommand&) = default;
};

/// What a daemon that can serve clients has answered to question().
struct DaemonAnswer {
  NamespaceKeeper::Names namespaces;  // of its server but the default one; only with the protocol 3
  std::vector<std::string> servers;  // process ids, for server_question(); only with the protocol 2
  bool has_fault = false;            // as has_fault() says; only with the protocol 3
};

/// The arguments of a daemon in the foreground. `configuration_file`: with the protocol 3, where
/// write_configuration() is.
[[nodiscard]] std::vector<std::string> daemon_arguments(Protocol protocol,
                                                        const std::string& configuration_file);
/// The server and the namespaces that a daemon with the protocol 3 has from its start, so that no
/// client of an earlier daemon comes back before its limits are there.
[[nodiscard]] std::string write_configuration(std::string_view gpu_uuid,
                                              const Namespaces& namespaces);
/// Asks whether the daemon can serve clients; it answers at once.
[[nodiscard]] ControlCommand question(Protocol protocol);
/// Nullopt: it is no answer of a daemon that can serve clients.
[[nodiscard]] std::optional<DaemonAnswer> read_answer(Protocol protocol, std::string_view output);
/// Asks a daemon with the protocol 2 for the states of its servers; it answers at once.
[[nodiscard]] ControlCommand server_question(const std::vector<std::string>& servers);
/// Whether one of these servers takes no new clients, because of an error of a client, until all of
/// its clients have ended.
[[nodiscard]] bool has_fault(std::string_view output);
[[nodiscard]] ControlCommand quit_command(Protocol protocol);
[[nodiscard]] ControlCommand command_of(const NamespaceStep& step);
/// For people, after the reason why a daemon failed before it had answered; may be empty.
[[nodiscard]] std::string start_hint(Protocol protocol);

}  // namespace snug::mps
