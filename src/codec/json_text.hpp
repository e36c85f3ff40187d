// JSON written by hand where speed matters: strings with their escapes. What is appended is valid
// JSON and valid UTF-8 whatever the text holds.
#pragma once

#include <string>
#include <string_view>

namespace snug {

/// Appends the text in quotes. In a text that is no valid UTF-8 every byte outside of ASCII becomes
/// U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace snug
