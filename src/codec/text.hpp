// Small helpers for texts from outside, in messages and as numbers. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "snug/codec/in_quotes.hpp"

namespace snug {

/// The text for a message: at most 63 characters of it, each that is not printable as `?`.
[[nodiscard]] std::string printable(std::string_view text);

/// A decimal integer that fills the text and fits 64 bits: no plus sign, no leading zeros, no
/// spaces.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace snug
