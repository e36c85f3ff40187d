#include "snug/codec/object_names.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "snug/base/text.hpp"
#include "snug/codec/proto_wire.hpp"

namespace snug::codec {
namespace {

constexpr std::size_t kShownBytes = 128;  // how many bytes of an unnamed object a message shows

/// Returns the name and namespace that come before the first syntax error in `text`. The end of a
/// truncated text is a syntax error too.
ObjectNames names_in_json(std::string_view text) {
  using Event = nlohmann::json::parse_event_t;
  ObjectNames names;
  std::vector<std::string> path;
  const auto visit = [&](int depth, Event event, nlohmann::json& json_value) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Event::key) {
      path.resize(level);
      path.back() = json_value.get<std::string>();
    } else if (event == Event::value && json_value.is_string() && level == path.size() &&
               level >= 2 && path[level - 2] == "metadata" &&
               (level == 2 || (level == 3 && path[0] == "object"))) {
      if (path.back() == "namespace") names.name_space = json_value.get<std::string>();
      if (path.back() == "name") names.name = json_value.get<std::string>();
    }
    return true;
  };
  [[maybe_unused]] const auto parsed = nlohmann::json::parse(text, visit, false);
  return names;
}

/// Returns `bytes` as text for the log: bytes other than printable ASCII become `\xNN`.
std::string show_bytes(std::string_view bytes) {
  std::string shown;
  for (const char c : bytes) {
    if (c >= ' ' && c <= '~') {
      shown += c;
      continue;
    }
    shown.append("\\x").append(base::hex_byte(c));
  }
  return shown;
}

bool is_lower_alnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_object_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxObjectName) return false;
  if (!is_lower_alnum(text.front()) || !is_lower_alnum(text.back())) return false;
  return std::ranges::all_of(text,
                             [](char c) { return is_lower_alnum(c) || c == '-' || c == '.'; });
}

base::Result<void> check_object_name(std::string_view object_kind, std::string_view name) {
  if (is_object_name(name)) return {};
  return base::fail(base::ErrorCode::kInvalid,
                    "the " + std::string(object_kind) + " `" + base::clip_text(name, 63) +
                        "` is not a Kubernetes name (1 to " + std::to_string(kMaxObjectName) +
                        " of a-z, 0-9, `-` and `.`)");
}

std::string name_unreadable(std::string_view beginning, WireFormat format) {
  const bool proto = format == WireFormat::kProtobuf;
  const std::string_view front = beginning.substr(0, kNamedWithin);
  const ObjectNames names = proto ? proto_object_names(front) : names_in_json(front);
  if (!is_object_name(names.name)) {
    return "the object that begins `" +
           (proto ? show_bytes(front.substr(0, kShownBytes))
                  : base::clip_text(front, kShownBytes)) +
           "`";
  }
  return (is_object_name(names.name_space) ? names.name_space + "/" : "") + names.name;
}

std::string first_item_name(std::string_view body) {
  const auto list = nlohmann::json::parse(body, nullptr, false);
  const auto pointer = nlohmann::json::json_pointer("/items/0/metadata/name");
  if (!list.is_object() || !list.contains(pointer) || !list.at(pointer).is_string()) return {};
  return list.at(pointer).get<std::string>();
}

}  // namespace snug::codec
