// What is wrong with a command line, for people: the house's sentences instead of CLI11's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace snug {

/// One sentence about the words that `app` was given, on which `error` was thrown.
[[nodiscard]] std::string bad_flags_sentence(const CLI::App& app, const CLI::ParseError& error);

}  // namespace snug
