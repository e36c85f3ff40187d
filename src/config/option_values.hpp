// Parses the values of settings that several programs have. Each function sets the value and
// returns an empty text, or returns what is allowed (`must be …`). Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "snug/config/options.hpp"

namespace snug::config {

/// Parses the whole text as a decimal integer without sign.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text);
[[nodiscard]] std::string set_address(HostPort& address, std::string_view value);
[[nodiscard]] std::string set_text(std::string& target, std::string_view value);
/// The folder by which snug-agent and snug-mps talk.
[[nodiscard]] std::string set_mps_folder(std::string& target, std::string_view value);
[[nodiscard]] std::string set_duration(std::chrono::milliseconds& target, std::string_view value);
[[nodiscard]] std::string set_level(obs::LogOptions& log, std::string_view value);
[[nodiscard]] std::string set_format(obs::LogOptions& log, std::string_view value);

template <typename T>
struct EnumWord {
  std::string_view text;
  T value;
};

template <typename T, std::size_t N>
std::string set_enum(T& target, std::string_view value, const std::array<EnumWord<T>, N>& words) {
  std::string allowed;
  for (const EnumWord<T>& word : words) {
    if (word.text == value) {
      target = word.value;
      return "";
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(word.text);
  }
  return "must be one of " + allowed;
}

}  // namespace snug::config
