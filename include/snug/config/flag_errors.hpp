// Error messages for a wrong command line: one sentence each, instead of CLI11's own.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace snug::config {

/// The name of the flag for a setting: `client-ca` for the key `clientCA`.
[[nodiscard]] std::string kebab_case(std::string_view camel_case);

/// Describes the command line for which `app` threw `error`.
[[nodiscard]] std::string flag_error_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace snug::config
