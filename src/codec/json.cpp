#include "codec/json.hpp"

#include <set>

#include "codec/text.hpp"

namespace snug {

using nlohmann::json;

Result<json> parse_json(std::string_view text, std::int64_t max_depth) {
  std::vector<std::set<std::string>> keys;
  std::string problem;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (!problem.empty()) return false;
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= max_depth) {
      problem = "is nested too deeply; at most " + std::to_string(max_depth) +
                " levels are allowed (limit maxJsonDepth)";
      return false;
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) problem = "has the key " + in_quotes(key) + " twice";
    }
    return problem.empty();
  };
  try {
    json document = json::parse(text, watch);
    if (!problem.empty()) return fail(ErrorCode::kInvalid, problem);
    return document;
  } catch (const json::parse_error& error) {
    if (!problem.empty()) return fail(ErrorCode::kInvalid, problem);
    return fail(ErrorCode::kInvalid, "is no valid JSON at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    return fail(ErrorCode::kInvalid, "has a number that is too large to be read");
  }
}

void JsonReader::complain(const JsonAt& at, std::string_view what) {
  if (problem_.empty()) {
    problem_ = (at.place.empty() ? "the text" : at.place) + " " + std::string(what);
  }
}

JsonAt JsonReader::member(const JsonAt& object, std::string_view key) {
  if (!ok() || !object.present()) return {};
  JsonAt at{nullptr, (object.place.empty() ? "" : object.place + ".") + std::string(key)};
  if (!object.value->is_object()) {
    complain(object, "must be an object");
    return at;
  }
  const auto found = object.value->find(key);
  if (found != object.value->end()) at.value = &*found;
  return at;
}

JsonAt JsonReader::required(const JsonAt& object, std::string_view key) {
  JsonAt at = member(object, key);
  if (ok() && !at.present()) complain(at, "is missing");
  return at;
}

std::int64_t JsonReader::integer(const JsonAt& at, IntegerRange range) {
  if (!ok() || !at.present()) return range.smallest;
  const auto& value = *at.value;
  // Numbers above the signed range are unsigned; all others that are whole fit.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= static_cast<std::uint64_t>(range.largest)) &&
                    value.get<std::int64_t>() >= range.smallest &&
                    value.get<std::int64_t>() <= range.largest;
  if (!fits) {
    complain(at, "must be an integer from " + std::to_string(range.smallest) + " to " +
                     std::to_string(range.largest));
    return range.smallest;
  }
  return value.get<std::int64_t>();
}

bool JsonReader::boolean(const JsonAt& at) {
  if (!ok() || !at.present()) return false;
  if (!at.value->is_boolean()) {
    complain(at, "must be true or false");
    return false;
  }
  return at.value->get<bool>();
}

std::string JsonReader::text(const JsonAt& at) {
  if (!ok() || !at.present()) return {};
  if (!at.value->is_string()) {
    complain(at, "must be a string");
    return {};
  }
  return at.value->get<std::string>();
}

std::string JsonReader::nonempty_text(const JsonAt& at) {
  std::string result = text(at);
  if (ok() && at.present() && result.empty()) complain(at, "must not be empty");
  return result;
}

std::vector<JsonAt> JsonReader::items(const JsonAt& at) {
  std::vector<JsonAt> result;
  if (!ok() || !at.present()) return result;
  if (!at.value->is_array()) {
    complain(at, "must be a list");
    return result;
  }
  result.reserve(at.value->size());
  for (const auto& item : *at.value) {
    result.push_back({&item, at.place + "[" + std::to_string(result.size()) + "]"});
  }
  return result;
}

}  // namespace snug
