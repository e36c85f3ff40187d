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
/// The namespaces of its server but the default one, which the daemon that can serve clients has
/// answered; with the protocol 2 it has none. Nullopt: it is no such answer.
[[nodiscard]] std::optional<NamespaceKeeper::Names> read_answer(Protocol protocol,
                                                                std::string_view output);
[[nodiscard]] ControlCommand quit_command(Protocol protocol);
[[nodiscard]] ControlCommand command_of(const NamespaceStep& step);
/// For people, after the reason why a daemon failed before it had answered; may be empty.
[[nodiscard]] std::string start_hint(Protocol protocol);

}  // namespace snug::mps
