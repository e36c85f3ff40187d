#include "codec/json_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace snug::codec {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  const auto next = text.find_first_not_of(kSpaces, at);
  return next == std::string_view::npos ? text.size() : next;
}

/// `at` is the position of an opening quote. Returns the position after the closing quote, or the
/// size of the text if the string does not end.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.size();
}

/// Returns the position of the comma or closing bracket after the value that starts at `at`, or the
/// size of the text if there is none.
std::size_t skip_value(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (depth == 0 && (c == ',' || c == ']' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return text.size();
}

/// Appends to `items` the items of an array. `at` is the position of its opening bracket. Returns
/// the position after its closing bracket; nullopt if the array does not end.
std::optional<std::size_t> split_array(std::string_view text, std::size_t at,
                                       std::vector<std::string_view>& items) {
  at = skip_spaces(text, at + 1);
  if (at < text.size() && text[at] == ']') return at + 1;
  while (at < text.size()) {
    const std::size_t end = skip_value(text, at);
    items.push_back(text.substr(at, end - at));
    if (end == text.size() || text[end] == '}') return std::nullopt;
    if (text[end] == ']') return end + 1;
    at = skip_spaces(text, end + 1);
  }
  return std::nullopt;
}

/// Returns the position of the array under the key "items" of the outermost object. Nullopt if
/// there is no such array.
std::optional<std::size_t> find_items(std::string_view text) {
  std::size_t at = skip_spaces(text, 0);
  if (at >= text.size() || text[at] != '{') return std::nullopt;
  at = skip_spaces(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    const std::size_t end = skip_string(text, at);
    const bool is_items = text.substr(at, end - at) == "\"items\"";
    const std::size_t colon = skip_spaces(text, end);
    if (colon >= text.size() || text[colon] != ':') return std::nullopt;
    at = skip_spaces(text, colon + 1);
    if (is_items && at < text.size() && text[at] == '[') return at;
    at = skip_value(text, at);
    if (at >= text.size() || text[at] != ',') return std::nullopt;
    at = skip_spaces(text, at + 1);
  }
  return std::nullopt;
}

/// Returns the position of the closing bracket of the array that begins at `begin`, or the size of
/// the text if the array does not end.
std::size_t end_of_array(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;  // an escaped quote does not end the string
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return text.size();
}

}  // namespace

SplitList split_list(std::string_view text) {
  SplitList split;
  const auto begin = find_items(text);
  const auto end = begin ? split_array(text, *begin, split.items) : std::nullopt;
  if (!end) return {std::string(text), {}};
  split.frame = std::string(text.substr(0, *begin)) + "[]" + std::string(text.substr(*end));
  return split;
}

bool blank_managed_fields(std::string& json) {
  // This text cannot be inside a string value, because its quotes would be escaped there.
  constexpr std::string_view kKey = R"("managedFields":)";
  bool replaced = false;
  for (std::size_t found = json.find(kKey); found != std::string::npos;
       found = json.find(kKey, found + kKey.size())) {
    const std::size_t begin = json.find_first_not_of(" \t\r\n", found + kKey.size());
    if (begin == std::string::npos || json[begin] != '[') continue;
    const std::size_t end = end_of_array(json, begin);
    if (end == json.size()) break;  // the text is not valid JSON
    std::fill(json.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
              json.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    replaced = true;
  }
  return replaced;
}

}  // namespace snug::codec
