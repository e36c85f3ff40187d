#include "adapters/kube/unreadable_object_name.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "adapters/kube/api_text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::kube {
namespace {

constexpr std::size_t kShownBytes = 128;  // bytes that a message shows of an object without a name

/// Returns the name and namespace that come before the first syntax error in `text`. The end of a
/// truncated text is a syntax error too.
codec::ObjectNames names_in_json(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  codec::ObjectNames names;
  std::vector<std::string> path;
  const auto visit = [&](int depth, Event event, nlohmann::json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::key) {
      path.resize(level);
      path.back() = parsed.get<std::string>();
    } else if (event == Event::value && parsed.is_string() && level == path.size() && level >= 2 &&
               path[level - 2] == "metadata" &&
               (level == 2 || (level == 3 && path[0] == "object"))) {
      if (path.back() == "namespace") names.name_space = parsed.get<std::string>();
      if (path.back() == "name") names.name = parsed.get<std::string>();
    }
    return true;
  };
  [[maybe_unused]] const auto parsed = nlohmann::json::parse(text, visit, false);
  return names;
}

/// Returns `bytes` as text for the log: bytes other than printable ASCII become `\xNN`.
std::string show_bytes(std::string_view bytes) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string shown;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      shown += c;
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    shown += "\\x";
    shown += kHex[byte >> 4U];
    shown += kHex[byte & 15U];
  }
  return shown;
}

}  // namespace

std::string name_unreadable(std::string_view beginning, codec::WireFormat format) {
  const bool proto = format == codec::WireFormat::kProtobuf;
  const std::string_view front = beginning.substr(0, kNamedWithin);
  const codec::ObjectNames names = proto ? codec::proto_object_names(front) : names_in_json(front);
  if (!is_object_name(names.name)) {
    return "the object that begins `" +
           (proto ? show_bytes(front.substr(0, kShownBytes)) : clip_text(front, kShownBytes)) + "`";
  }
  return (is_object_name(names.name_space) ? names.name_space + "/" : "") + names.name;
}

}  // namespace snug::kube
