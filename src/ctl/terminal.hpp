// What stdout is: a terminal or not, how large, with which characters and colours.
#pragma once

#include <cstddef>
#include <string_view>

#include "ctl/text_table.hpp"

namespace snug::ctl {

/// The values of --color.
inline constexpr const char* kColourChoices = "auto|always|never";

[[nodiscard]] bool stdout_is_terminal();
/// The number of lines of the terminal; 0: stdout is none.
[[nodiscard]] std::size_t terminal_height();
/// Unicode if the locale is UTF-8; the width of the terminal, any width for a file. With `auto`,
/// the default, a terminal gets colours unless NO_COLOR is set or TERM is dumb.
[[nodiscard]] TextStyle style_of_stdout(std::string_view colour_choice);

}  // namespace snug::ctl
