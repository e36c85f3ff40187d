#include "codec/managed_fields.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace snug {
namespace {

/// Where the array that begins at `begin` ends, at its bracket; the text's size: nowhere.
std::size_t end_of_array(std::string_view json, std::size_t begin) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = begin; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;  // what is escaped does not end the string
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return json.size();
}

}  // namespace

bool blank_managed_fields(std::string& json) {
  // Within a string its quotes would be escaped.
  constexpr std::string_view kKey = R"("managedFields":)";
  bool replaced = false;
  for (std::size_t found = json.find(kKey); found != std::string::npos;
       found = json.find(kKey, found + kKey.size())) {
    const std::size_t begin = json.find_first_not_of(" \t\r\n", found + kKey.size());
    if (begin == std::string::npos || json[begin] != '[') continue;
    const std::size_t end = end_of_array(json, begin);
    if (end == json.size()) break;  // it is no JSON
    std::fill(json.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
              json.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    replaced = true;
  }
  return replaced;
}

}  // namespace snug
