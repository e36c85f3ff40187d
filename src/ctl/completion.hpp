// What may follow on a command line of snugctl, for the shells' completion. It is read from the
// definitions of the commands and flags themselves. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

namespace snug::ctl {

struct Completion {
  std::string word;
  std::string help;
};

struct Completions {
  std::vector<Completion> words;  // each begins with the last word of the command line
  bool files = false;             // names of files may stand there, too
};

/// Completes the last of the words behind the name of the program; it may be empty.
[[nodiscard]] Completions complete(const CLI::App& app, std::span<const std::string> words);
/// The text that the shells' scripts and kubectl read: a line `WORD<tab>HELP` for each word, and
/// last
/// `:0` if files may follow and `:4` if not.
[[nodiscard]] std::string completions_text(const Completions& completions);

}  // namespace snug::ctl
