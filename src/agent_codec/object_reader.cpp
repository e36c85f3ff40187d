#include "agent_codec/object_reader.hpp"

#include <algorithm>
#include <iterator>

#include "snug/base/text.hpp"
#include "snug/codec/json_scan.hpp"

namespace snug::agent_codec {
namespace {

using nlohmann::json;

// Nothing reads them, and an author can fill them with a million values.
constexpr std::string_view kUnneeded[] = {"managedFields", "args", "command", "affinity",
                                          "tolerations"};

/// Returns a discarded value if `text` is not JSON. Sets `too_deep` if it is nested too deeply.
json parse_once(std::string_view text, std::int64_t max_depth, bool& too_deep) {
  too_deep = false;
  const auto on_parse_event = [&](int depth, json::parse_event_t event, json& value) {
    too_deep = too_deep || depth > max_depth;
    const bool unneeded =
        event == json::parse_event_t::key &&
        std::ranges::find(kUnneeded, value.get_ref<const std::string&>()) != std::end(kUnneeded);
    return !too_deep && !unneeded;
  };
  json parsed = json::parse(text, on_parse_event, false);
  return too_deep ? json(json::value_t::discarded) : parsed;
}

std::string_view type_text(json::value_t type) {
  switch (type) {
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::boolean:
      return "true or false";
    default:
      return "a string";
  }
}

}  // namespace

base::Result<json> parse_object(std::string_view text, std::string_view kind,
                                const base::Limits& limits) {
  const std::string kind_text(kind);
  if (std::cmp_greater(text.size(), limits.max_object_bytes)) {
    return base::fail(base::ErrorCode::kTooLarge,
                      kind_text + " has " + std::to_string(text.size()) + " bytes; at most " +
                          std::to_string(limits.max_object_bytes) + " are allowed");
  }
  bool too_deep = false;
  json parsed = parse_once(text, limits.max_json_depth, too_deep);
  if (parsed.is_discarded()) {
    // Clients can put anything into managedFields.
    std::string blanked_text(text);
    if (codec::blank_managed_fields(blanked_text))
      parsed = parse_once(blanked_text, limits.max_json_depth, too_deep);
  }
  if (!parsed.is_discarded()) return parsed;
  return base::fail(base::ErrorCode::kInvalid,
                    too_deep ? kind_text + " is nested too deeply; at most " +
                                   std::to_string(limits.max_json_depth) + " levels are allowed"
                             : kind_text + " is not valid JSON");
}

std::string JsonPlace::path() const {
  std::string path = parent == nullptr ? std::string() : parent->path();
  if (index >= 0) return path + '[' + std::to_string(index) + ']';
  if (!path.empty()) path += '.';
  return path + base::printable_excerpt(key);
}

void ObjectReader::report(const JsonPlace& place, std::string_view problem) {
  if (ok()) problem_ = place.path() + ' ' + std::string(problem);
}

bool ObjectReader::has_type(const JsonPlace& place, json::value_t type) {
  if (!ok() || !place.present()) return false;
  if (place.value->type() == type) return true;
  report(place, std::string("must be ").append(type_text(type)).append(", not ") +
                    place.value->type_name());
  return false;
}

JsonPlace ObjectReader::member(const JsonPlace& object, std::string_view key) {
  JsonPlace place{.parent = &object, .key = key};
  if (!has_type(object, json::value_t::object)) return place;
  const auto found = object.value->find(key);
  if (found != object.value->end() && !found->is_null()) place.value = &*found;
  return place;
}

std::string ObjectReader::text(const JsonPlace& place) {
  return has_type(place, json::value_t::string) ? place.value->get<std::string>() : std::string();
}

std::string ObjectReader::required_text(const JsonPlace& place) {
  std::string required = text(place);
  if (required.empty()) report(place, place.present() ? "must not be empty" : "is missing");
  return required;
}

bool ObjectReader::boolean(const JsonPlace& place) {
  return has_type(place, json::value_t::boolean) && place.value->get<bool>();
}

}  // namespace snug::agent_codec
