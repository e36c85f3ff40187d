#include "snug/codec/json_scan.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace snug::codec {
namespace {

constexpr std::string_view kJsonSpaces = " \t\r\n";

std::size_t skip_spaces(std::string_view json_text, std::size_t position) {
  const auto next_token = json_text.find_first_not_of(kJsonSpaces, position);
  return next_token == std::string_view::npos ? json_text.size() : next_token;
}

/// `position` is that of an opening quote. Returns the position after the closing quote, or the
/// size of the text if the string does not end.
std::size_t skip_string(std::string_view json_text, std::size_t position) {
  for (++position; position < json_text.size() && json_text[position] != '"'; ++position) {
    if (json_text[position] == '\\') ++position;
  }
  return position < json_text.size() ? position + 1 : json_text.size();
}

/// Returns the position of the comma or closing bracket after the value that starts at `position`,
/// or the size of the text if there is none.
std::size_t skip_value(std::string_view json_text, std::size_t position) {
  int nesting = 0;
  while (position < json_text.size()) {
    const char c = json_text[position];
    if (c == '"') {
      position = skip_string(json_text, position);
      continue;
    }
    if (nesting == 0 && (c == ',' || c == ']' || c == '}')) return position;
    if (c == '{' || c == '[') ++nesting;
    if (c == '}' || c == ']') --nesting;
    ++position;
  }
  return json_text.size();
}

/// Appends to `items` the items of an array. `position` is that of its opening bracket. Returns the
/// position after its closing bracket; nullopt if the array does not end.
std::optional<std::size_t> split_array(std::string_view json_text, std::size_t position,
                                       std::vector<std::string_view>& items) {
  position = skip_spaces(json_text, position + 1);
  if (position < json_text.size() && json_text[position] == ']') return position + 1;
  while (position < json_text.size()) {
    const std::size_t item_end = skip_value(json_text, position);
    items.push_back(json_text.substr(position, item_end - position));
    if (item_end == json_text.size() || json_text[item_end] == '}') return std::nullopt;
    if (json_text[item_end] == ']') return item_end + 1;
    position = skip_spaces(json_text, item_end + 1);
  }
  return std::nullopt;
}

/// Returns the position of the array under the key "items" of the outermost object. Nullopt if
/// there is no such array.
std::optional<std::size_t> find_items_array(std::string_view json_text) {
  std::size_t position = skip_spaces(json_text, 0);
  if (position >= json_text.size() || json_text[position] != '{') return std::nullopt;
  position = skip_spaces(json_text, position + 1);
  while (position < json_text.size() && json_text[position] == '"') {
    const std::size_t key_end = skip_string(json_text, position);
    const bool is_items_key = json_text.substr(position, key_end - position) == "\"items\"";
    const std::size_t colon = skip_spaces(json_text, key_end);
    if (colon >= json_text.size() || json_text[colon] != ':') return std::nullopt;
    position = skip_spaces(json_text, colon + 1);
    if (is_items_key && position < json_text.size() && json_text[position] == '[') return position;
    position = skip_value(json_text, position);
    if (position >= json_text.size() || json_text[position] != ',') return std::nullopt;
    position = skip_spaces(json_text, position + 1);
  }
  return std::nullopt;
}

/// Returns the position of the closing bracket of the array that begins at `opening_bracket`, or
/// the size of the text if the array does not end.
std::size_t end_of_array(std::string_view json_text, std::size_t opening_bracket) {
  std::size_t open_brackets = 0;
  bool in_string = false;
  for (std::size_t i = opening_bracket; i < json_text.size(); ++i) {
    const char c = json_text[i];
    if (in_string) {
      if (c == '\\') ++i;  // an escaped quote does not end the string
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[') {
      ++open_brackets;
    } else if (c == ']' && --open_brackets == 0) {
      return i;
    }
  }
  return json_text.size();
}

}  // namespace

SplitList split_list(std::string_view json_text) {
  SplitList split;
  const auto items_begin = find_items_array(json_text);
  const auto items_end =
      items_begin ? split_array(json_text, *items_begin, split.items) : std::nullopt;
  if (!items_end) return {std::string(json_text), {}};
  split.frame = std::string(json_text.substr(0, *items_begin)) + "[]" +
                std::string(json_text.substr(*items_end));
  return split;
}

bool blank_managed_fields(std::string& json_text) {
  // This text cannot be inside a string value, because its quotes would be escaped there.
  constexpr std::string_view kKey = R"("managedFields":)";
  bool any_blanked = false;
  for (std::size_t key_position = json_text.find(kKey); key_position != std::string::npos;
       key_position = json_text.find(kKey, key_position + kKey.size())) {
    const std::size_t array_begin =
        json_text.find_first_not_of(" \t\r\n", key_position + kKey.size());
    if (array_begin == std::string::npos || json_text[array_begin] != '[') continue;
    const std::size_t array_end = end_of_array(json_text, array_begin);
    if (array_end == json_text.size()) break;  // the text is not valid JSON
    std::fill(json_text.begin() + static_cast<std::ptrdiff_t>(array_begin) + 1,
              json_text.begin() + static_cast<std::ptrdiff_t>(array_end), ' ');
    any_blanked = true;
  }
  return any_blanked;
}

}  // namespace snug::codec
