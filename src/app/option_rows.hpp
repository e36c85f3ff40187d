// The table of settings: one row each, read alike from the command line and from a file. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/options.hpp"

namespace snug {

struct OptionRow {
  std::string_view key;
  std::string_view placeholder;  // in the help
  std::string_view help;
  /// Takes one value; what is wrong with it (`must be …`), or empty.
  std::string (*set)(Options& options, std::string_view value);
  /// A setting that may have several values; null: it has one.
  std::vector<std::string> Options::* list = nullptr;
  /// A number or a boolean, which a file does not put in quotes; `set` refuses the empty text.
  bool plain = false;
};

[[nodiscard]] std::span<const OptionRow> option_rows();

/// As the setting spells it.
[[nodiscard]] std::string_view answer_word(AnswerMode answer);

/// Sets a key under `limits` to an integer in its bounds; returns what is wrong, or empty.
[[nodiscard]] std::string set_limit(Options& options, std::string_view key, std::string_view value);

/// What no single setting shows: settings that exclude or need each other.
[[nodiscard]] Result<void> check_together(const Options& options);

/// Whether others than this machine may reach the extender port, and need not show who they are.
[[nodiscard]] bool open_to_all(const Options& options);

}  // namespace snug
