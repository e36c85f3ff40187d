// The subcommands of snugctl, one source file each, and what they share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "snug/base/result.hpp"

namespace snug::ctl {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;  // flags, or a file that a flag names

/// What the command line asks for, to be called once it has been read; returns the exit code.
using Action = std::function<int()>;

/// Each adds its subcommand with its flags to `app`, and sets `chosen` if the command line names
/// it.
void add_defrag(CLI::App& app, Action& chosen);        // which pods to move so that a pod fits
void add_mig(CLI::App& app, Action& chosen);           // what MIG cards can be divided into
void add_policy_check(CLI::App& app, Action& chosen);  // is a policy file valid?
void add_simulate(CLI::App& app, Action& chosen);      // how policies pack a trace

/// Writes the text to stdout. An error: stdout does not take all of it.
[[nodiscard]] base::Result<void> print(const std::string& text);

/// Writes the sentence to stderr, and returns `code`.
int report_error(int code, const std::string& what);

}  // namespace snug::ctl
