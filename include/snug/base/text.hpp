// Helpers for texts from outside: how messages show them, which are valid, and numbers in them.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug::base {

/// The text for a message: its first 63 bytes, with `?` for each that is not printable ASCII.
[[nodiscard]] std::string printable_excerpt(std::string_view text);
/// The same in quotes; `...` before the closing quote means that the text was cut.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// A decimal integer that fills the text and fits 64 bits: no plus sign, no leading zeros, no
/// spaces.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// The length in bytes of the UTF-8 character at the front of the text; 0: it is not valid.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// The position of the first byte that starts no valid UTF-8 character, or is a control character
/// other than tab, line feed and carriage return; npos: there is none.
[[nodiscard]] std::string_view::size_type find_invalid_text(std::string_view text);

}  // namespace snug::base
