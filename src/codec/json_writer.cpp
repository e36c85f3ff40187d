#include "codec/json_writer.hpp"

#include <cstdint>
#include <cstring>

#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighBits = 0x8080808080808080;

/// Returns a nonzero value if one of the eight bytes is a control character, a quote, a backslash
/// or not ASCII. For other bytes, the value may be nonzero too, because a subtraction can borrow
/// across bytes. This only makes the caller slower.
std::uint64_t special_bytes(std::uint64_t bytes) {
  const auto has_zero = [](std::uint64_t x) { return (x - kOnes) & ~x & kHighBits; };
  return (bytes & kHighBits) | ((bytes - kOnes * ' ') & kHighBits) |
         has_zero(bytes ^ (kOnes * '"')) | has_zero(bytes ^ (kOnes * '\\'));
}

bool plain_char(unsigned char c) { return c >= ' ' && c < 0x80 && c != '"' && c != '\\'; }

/// Whether no character of the text needs an escape or a UTF-8 check. This is fast and nearly
/// always true, because names and messages are plain ASCII.
bool is_plain(std::string_view text) {
  std::size_t byte_index = 0;
  for (; byte_index + sizeof(std::uint64_t) <= text.size(); byte_index += sizeof(std::uint64_t)) {
    std::uint64_t eight_bytes = 0;
    std::memcpy(&eight_bytes, text.data() + byte_index, sizeof eight_bytes);
    if (special_bytes(eight_bytes) != 0) return false;
  }
  for (; byte_index < text.size(); ++byte_index) {
    if (!plain_char(static_cast<unsigned char>(text[byte_index]))) return false;
  }
  return true;
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out.append("\\u00").append(base::hex_byte(c));
  }
}

/// `text` must begin with an invalid UTF-8 character. Returns the number of bytes to replace by one
/// U+FFFD: the length of the incomplete character with which `text` begins, or 1 if there is none.
std::size_t broken_bytes(std::string_view text) {
  std::size_t byte_count = 1;
  while (byte_count < text.size() && byte_count < 3) {
    const std::string completed_character =
        std::string(text.substr(0, byte_count + 1)) + "\x80\x80";
    if (base::character_length(completed_character) == 0) break;
    ++byte_count;
  }
  return byte_count;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (is_plain(text)) {
    out += text;
    text = {};
  }
  while (!text.empty()) {
    std::size_t character_bytes = base::character_length(text);
    if (character_bytes == 0) {
      character_bytes = broken_bytes(text);
      out += "\xEF\xBF\xBD";
    } else if (character_bytes > 1 || plain_char(static_cast<unsigned char>(text.front()))) {
      out += text.substr(0, character_bytes);
    } else {
      append_escaped(out, text.front());
    }
    text.remove_prefix(character_bytes);
  }
  out += '"';
}

}  // namespace snug::codec
