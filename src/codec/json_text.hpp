// JSON written by hand where speed matters: strings with their escapes. What is appended is valid
// JSON and valid UTF-8 whatever the text holds.
#pragma once

#include <string>
#include <string_view>

namespace snug {

/// Appends the text in quotes. Bytes that are no valid UTF-8 become U+FFFD, one for as many of them
/// as could have begun one character.
void append_json_string(std::string& out, std::string_view text);

}  // namespace snug
