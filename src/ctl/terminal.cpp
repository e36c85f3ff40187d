#include "ctl/terminal.hpp"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>

#include "snug/base/text.hpp"

namespace snug::ctl {
namespace {

winsize size_of_terminal() {
  winsize size = {};
  if (stdout_is_terminal()) ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return size;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_is_utf8() {
  // The environment's locale is in force only while its character set is read.
  std::setlocale(LC_CTYPE, "");
  const bool is_utf8 = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  std::setlocale(LC_CTYPE, "C");
  return is_utf8;
}

/// The width that COLUMNS states, for a terminal that states none; 0: none.
std::size_t stated_width() {
  const auto columns = base::parse_integer(environment("COLUMNS"));
  return columns && *columns > 0 && *columns < 10'000 ? static_cast<std::size_t>(*columns) : 0;
}

}  // namespace

bool stdout_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

std::size_t terminal_height() { return size_of_terminal().ws_row; }

TextStyle style_of_stdout(std::string_view colour_choice) {
  const bool wants_colour = stdout_is_terminal() && environment("NO_COLOR").empty() &&
                            environment("TERM") != "dumb" && !environment("TERM").empty();
  const std::size_t width = size_of_terminal().ws_col;
  return {.unicode = locale_is_utf8(),
          .colour = colour_choice == "always" || (colour_choice != "never" && wants_colour),
          .width = width > 0              ? width
                   : stdout_is_terminal() ? stated_width()
                                          : 0};
}

}  // namespace snug::ctl
