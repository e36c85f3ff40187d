#include "request/malformed.hpp"

#include <utility>

namespace snug::request {

bool is_printable(char c) { return c >= ' ' && c <= '~'; }

std::string shown(std::string_view value) {
  std::string text;
  for (const char c : value.substr(0, kMaxShownValue)) text += is_printable(c) ? c : '?';
  if (value.size() > kMaxShownValue) text += "...";
  return text;
}

std::unexpected<model::Refusal> malformed(std::string sentence) {
  return std::unexpected(model::Refusal{model::ReasonCode::kMalformed, std::move(sentence)});
}

std::unexpected<model::Refusal> bad_value(std::string_view key, std::string_view value,
                                          std::string_view allowed) {
  return malformed(shown(key) + " is \"" + shown(value) + "\"; expected " + std::string(allowed));
}

}  // namespace snug::request
