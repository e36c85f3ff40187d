// Parses command lines with CLI11; the error messages replace CLI11's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::config {

/// Converts a key of the configuration file into the name of its flag: `clientCA` into `client-ca`.
[[nodiscard]] std::string kebab_case(std::string_view camel_case);

/// Parses a command line. Returns one sentence that says what is wrong with it; empty if it is
/// valid. Throws CLI::CallForHelp, unless there are unknown words beside --help, and
/// CLI::CallForVersion.
[[nodiscard]] std::string parse_flags(CLI::App& app, int argc, const char* const* argv);
/// Parses the command line of a program without subcommands. Returns the text that it prints
/// instead of running, for --help and --version; otherwise an empty one. kInvalid: the command line
/// is not valid.
[[nodiscard]] base::Result<std::string> parse_or_print(CLI::App& app, int argc,
                                                       const char* const* argv);

}  // namespace snug::config
