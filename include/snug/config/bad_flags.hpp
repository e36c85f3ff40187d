// What is wrong with a command line, in this project's sentences instead of CLI11's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace snug {

/// One sentence about the arguments for which parsing by `app` threw `error`.
[[nodiscard]] std::string bad_flags_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace snug
