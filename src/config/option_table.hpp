// The table of settings: one row each, for the command line and the configuration file alike. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/config/options.hpp"

namespace snug::config {

struct OptionRow {
  std::string_view key;
  std::string_view placeholder;  // in the help
  std::string_view help;
  /// Sets one value; returns what is wrong with it (`must be …`), or an empty text.
  std::string (*parse)(Options& options, std::string_view value);
  /// Where the values of a setting with several go; null: it has one value.
  std::vector<std::string> Options::* list_member = nullptr;
  /// A number or a boolean, which must not be quoted in a file; `set` refuses the empty text.
  bool is_unquoted = false;
};

[[nodiscard]] std::span<const OptionRow> option_rows();

/// Sets a key under `limits` to an integer within its bounds; returns what is wrong, or an empty
/// text.
[[nodiscard]] std::string set_limit(Options& options, std::string_view key, std::string_view value);

/// Checks settings that exclude or need each other.
[[nodiscard]] base::Result<void> check_consistency(const Options& options);

}  // namespace snug::config
