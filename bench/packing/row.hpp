// Formats a line of the benchmark's output.
#pragma once

#include <cstdio>
#include <string>

namespace snug_bench {

/// As printf; at most 159 characters.
std::string row_of(const char* format, auto... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace snug_bench
