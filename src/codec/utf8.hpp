// Which texts from outside are text at all. Pure.
#pragma once

#include <string_view>

namespace snug {

/// The position of the first byte that starts no valid UTF-8 character, or is a control character
/// other than tab, line feed and carriage return; npos: there is none.
[[nodiscard]] std::string_view::size_type find_bad_text(std::string_view text);

}  // namespace snug
