// Helpers for texts that come from outside Snug or go there: quoting and shortening them,
// validating them, base64, decimal and hexadecimal numbers, percentages. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "snug/base/units.hpp"

namespace snug::base {

/// Returns the first 63 bytes of `text`, with `?` in place of each byte that is not printable
/// ASCII.
[[nodiscard]] std::string printable_excerpt(std::string_view text);
/// Returns printable_excerpt(text) in double quotes. `...` before the closing quote means that the
/// text is longer.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Parses a decimal integer. Nullopt if it has a plus sign or leading zeros, if it does not fit 64
/// bits, or if the text contains anything else.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

/// Returns the length in bytes of the UTF-8 character at the beginning of the text; 0 if the text
/// does not begin with a valid character.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// The position of the first byte that is not valid UTF-8 or is a forbidden control character; npos
/// if there is none. Tab, line feed and carriage return are the only allowed control characters.
[[nodiscard]] std::string_view::size_type find_invalid_text(std::string_view text);

/// Returns the beginning of `text` as valid UTF-8 of at most `max_bytes`. Each invalid byte becomes
/// `?`; a character that does not fit is left out as a whole.
[[nodiscard]] std::string clip_text(std::string_view text, std::size_t max_bytes);

/// Returns the compute as a percentage of one GPU: `25 %`, `9.3 %`.
[[nodiscard]] std::string percent_of_gpu(MilliGpu compute);

/// Returns `number` as 16 hexadecimal digits.
[[nodiscard]] std::string hex_number(std::uint64_t number);
/// Returns the byte `c` as two hexadecimal digits.
[[nodiscard]] std::string hex_byte(char c);

/// Encodes `bytes` in base64 with padding, without line breaks.
[[nodiscard]] std::string encode_base64(std::string_view bytes);
/// Decodes base64 with padding and ignores white space. Returns nullopt if `text` is not base64.
[[nodiscard]] std::optional<std::string> decode_base64(std::string_view text);

}  // namespace snug::base
