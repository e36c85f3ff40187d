// Texts from outside in messages. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace snug {

/// The text in quotes, for a message: at most 63 printable characters of it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace snug
