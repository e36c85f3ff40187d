// Which texts from outside are text at all. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace snug {

/// The length of the character at the front of the text; 0: there is no valid one.
[[nodiscard]] std::size_t character_length(std::string_view text);

/// The position of the first byte that starts no valid UTF-8 character, or is a control character
/// other than tab, line feed and carriage return; npos: there is none.
[[nodiscard]] std::string_view::size_type find_bad_text(std::string_view text);

}  // namespace snug
