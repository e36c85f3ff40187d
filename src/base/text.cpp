#include "snug/base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace snug::base {
namespace {

constexpr std::size_t kExcerptBytes = 63;
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_forbidden_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return -1;
}

}  // namespace

std::string printable_excerpt(std::string_view text) {
  std::string excerpt{text.substr(0, kExcerptBytes)};
  std::ranges::replace_if(excerpt, [](char c) { return c < ' ' || c > '~'; }, '?');
  return excerpt;
}

std::string in_quotes(std::string_view text) {
  return '"' + printable_excerpt(text) + (text.size() > kExcerptBytes ? "...\"" : "\"");
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return integer;
}

std::size_t character_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto follows = [&](std::size_t offset) { return (byte(offset) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return follows(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const bool overlong = first == 0xE0U && byte(1) < 0xA0U;
    const bool surrogate = first == 0xEDU && byte(1) > 0x9FU;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const bool overlong = first == 0xF0U && byte(1) < 0x90U;
    const bool beyond = first == 0xF4U && byte(1) > 0x8FU;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

std::string_view::size_type find_invalid_text(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = character_length(text.substr(at));
    if (length == 0 || is_forbidden_control(text[at])) return at;
    at += length;
  }
  return std::string_view::npos;
}

std::string clip_text(std::string_view text, std::size_t max_bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::size_t consumed_bytes = std::max<std::size_t>(length, 1);
    if (out.size() + consumed_bytes > max_bytes) break;
    if (length == 0) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(consumed_bytes);
  }
  return out;
}

std::string percent_of_gpu(MilliGpu compute) {
  std::string text = std::to_string(compute.value / 10);
  if (compute.value % 10 != 0) text += "." + std::to_string(compute.value % 10);
  return text + " %";
}

std::string hex_number(std::uint64_t number) {
  std::string digits(16, '0');
  for (auto digit = digits.rbegin(); number != 0; number >>= 4U, ++digit) {
    *digit = kHexDigits[number & 15U];
  }
  return digits;
}

std::string hex_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return {kHexDigits[byte >> 4U], kHexDigits[byte & 15U]};
}

std::string encode_base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = (bits << 8U) | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      out += i <= group.size() ? kDigits[(bits >> (18U - 6U * i)) & 63U] : '=';
    }
  }
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::array<int, 4> digit_group{};
  std::size_t filled = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    const bool pad = c == '=' && filled >= 2;
    const int digit = pad ? 0 : base64_digit(c);
    if (digit < 0 || (padding > 0 && !pad) || (padding > 0 && filled == 0)) return std::nullopt;
    padding += pad ? 1 : 0;
    digit_group[filled++] = digit;
    if (filled < digit_group.size()) continue;
    const auto bits = static_cast<std::uint32_t>((digit_group[0] << 18) | (digit_group[1] << 12) |
                                                 (digit_group[2] << 6) | digit_group[3]);
    for (std::size_t i = 0; i < 3 - padding; ++i) {
      out += static_cast<char>((bits >> (16U - 8U * i)) & 255U);
    }
    filled = 0;
  }
  if (filled != 0) return std::nullopt;
  return out;
}

}  // namespace snug::base
