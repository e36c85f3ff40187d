// The subcommands of snugctl, each in its own source file, and the functions that they share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::ctl {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // wrong flags, or an invalid file that a flag names

/// Runs a subcommand and returns the exit code. It is called after the command line was parsed.
using Action = std::function<int()>;

/// Each function adds one subcommand with its flags to `app`. If the command line names the
/// subcommand, app.parse() sets `chosen_action` to its action.
void add_admission(CLI::App& app, Action& chosen_action);   // prints the admission policies
void add_completion(CLI::App& app, Action& chosen_action);  // prints a script for a shell
void add_defrag(CLI::App& app, Action& chosen_action);   // advises which pods to move to make room
void add_explain(CLI::App& app, Action& chosen_action);  // explains why a pod is where it is
void add_man(CLI::App& app, Action& chosen_action);      // prints the manual page
void add_mig(CLI::App& app, Action& chosen_action);      // shows profiles and layouts of MIG cards
void add_policy_check(CLI::App& app, Action& chosen_action);  // checks if a policy file is valid
void add_simulate(CLI::App& app, Action& chosen_action);      // simulates how policies pack a trace
void add_top(CLI::App& app, Action& chosen_action);           // shows how full the GPUs are
void add_verify(CLI::App& app, Action& chosen_action);        // checks what a node enforces

/// Adds an option whose value must be one of `choices`, which are written `json|yaml`.
CLI::Option* add_choice(CLI::App& command, const std::string& flag, std::string& value,
                        const std::string& choices, const std::string& help);

/// Tells the functions below how the program was started: as the plug-in of kubectl, if its name is
/// kubectl-snug, or to complete its command lines, if it is kubectl_complete-snug. Called once, by
/// main().
void set_program(std::string_view path);
[[nodiscard]] bool is_plugin();
[[nodiscard]] bool is_completer();
/// What people type to start the program: `snugctl` or `kubectl snug`.
[[nodiscard]] std::string program_name();

/// Writes the text to stdout. Returns an error if not all of it could be written.
[[nodiscard]] base::Result<void> print(const std::string& text);

/// Writes a warning to stderr.
void warn(const std::string& what);
/// Writes the error message `what` to stderr, and returns `code`.
int report_error(int code, const std::string& what);
/// Writes the message of the error to stderr, and returns kExitUsage for kInvalid, otherwise
/// kExitFailure.
int report_error(const base::Error& error);

}  // namespace snug::ctl
