// The table of settings, with one row for each. The command line and the configuration file both
// use it. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/config/options.hpp"

namespace snug::config {

struct OptionRow {
  std::string_view key;
  std::string_view placeholder;  // stands for the value in --help and error messages
  std::string_view help;
  /// The value, or a few words, that --help and docs/reference/settings.md show as the default.
  /// Empty: the setting is off.
  std::string_view default_text;
  /// Parses and sets one value. Returns an error message (`must be …`), or an empty text on
  /// success.
  std::string (*parse)(Options& options, std::string_view value);
  /// The member that stores the values if the setting is a list. Null if the setting has only one
  /// value.
  std::vector<std::string> Options::* list_member = nullptr;
  /// Whether the value is a number or a boolean. Such a value must not be quoted in a configuration
  /// file, and `parse` refuses an empty text for it.
  bool is_unquoted = false;
  /// Error message about an empty list in a configuration file (`must …`); empty: it is allowed.
  std::string_view refuse_no_items = {};
};

[[nodiscard]] std::span<const OptionRow> option_rows();

/// Sets the limit `key` to the integer `value`, which must be within the range of that limit.
/// Returns an error message, or an empty text on success.
[[nodiscard]] std::string set_limit(Options& options, std::string_view key, std::string_view value);

/// Returns an error if two settings contradict each other, or if a setting requires another one
/// that is missing.
[[nodiscard]] base::Result<void> check_consistency(const Options& options);

}  // namespace snug::config
