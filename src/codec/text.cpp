#include "codec/text.hpp"

#include <algorithm>
#include <charconv>

namespace snug {

namespace {

constexpr std::size_t kShown = 63;

}  // namespace

std::string printable(std::string_view text) {
  std::string shown{text.substr(0, kShown)};
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + (text.size() > kShown ? "...\"" : "\"");
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace snug
