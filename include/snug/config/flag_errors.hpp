// Error messages for an invalid command line, which replace CLI11's messages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace snug::config {

/// Converts a key of the configuration file into the name of its flag: `clientCA` into `client-ca`.
[[nodiscard]] std::string kebab_case(std::string_view camel_case);

/// Returns one sentence that says what is wrong with the command line. `error` is the exception
/// that `app.parse()` threw.
[[nodiscard]] std::string flag_error_message(const CLI::App& app, const CLI::ParseError& error);

/// Returns an error message about an option without its value, for which CLI11 took the next flag
/// as the value. Empty if there is no such option. To be called after `app.parse()`, which does not
/// always fail then.
[[nodiscard]] std::string missing_value_message(const CLI::App& app);

}  // namespace snug::config
