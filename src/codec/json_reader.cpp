#include "codec/json_reader.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

using ParsedJson = nlohmann::json;
using simdjson::dom::element;

/// Parses a text with nlohmann-json after simdjson has refused it. Returns the same JSON in a form
/// that simdjson accepts: integers beyond 64 bits become floating-point numbers. If the JSON is
/// invalid, the error names the position, which simdjson does not report.
base::Result<std::string> normalize_json(std::string_view text, std::int64_t max_depth) {
  std::vector<std::set<std::string>> open_object_keys;
  std::string strict_problem;
  const auto on_parse_event = [&](int depth, ParsedJson::parse_event_t event,
                                  ParsedJson& event_value) {
    if (!strict_problem.empty()) return false;
    const bool opens_level = event == ParsedJson::parse_event_t::object_start ||
                             event == ParsedJson::parse_event_t::array_start;
    if (opens_level && depth >= max_depth) {
      strict_problem =
          "is nested too deeply; at most " + std::to_string(max_depth) + " levels are allowed";
      return false;
    }
    if (event == ParsedJson::parse_event_t::object_start) open_object_keys.emplace_back();
    if (event == ParsedJson::parse_event_t::object_end) open_object_keys.pop_back();
    if (event == ParsedJson::parse_event_t::key) {
      const auto& key = event_value.get_ref<const std::string&>();
      if (!open_object_keys.back().insert(key).second)
        strict_problem = "has the key " + base::in_quotes(key) + " twice";
    }
    return strict_problem.empty();
  };
  try {
    const ParsedJson document = ParsedJson::parse(text, on_parse_event);
    if (!strict_problem.empty()) return base::fail(base::ErrorCode::kInvalid, strict_problem);
    return document.dump();
  } catch (const ParsedJson::parse_error& error) {
    if (!strict_problem.empty()) return base::fail(base::ErrorCode::kInvalid, strict_problem);
    return base::fail(base::ErrorCode::kInvalid,
                      "is not valid JSON at byte " + std::to_string(error.byte));
  } catch (const ParsedJson::out_of_range&) {
    return base::fail(base::ErrorCode::kInvalid, "has a number that is too large to be read");
  }
}

/// Checks that a value is not nested too deeply, and that no object in it has duplicate keys.
class StrictnessCheck {
 public:
  [[nodiscard]] bool holds(const element& value, std::int64_t levels_left) {
    simdjson::dom::array json_array;
    if (value.get(json_array) == simdjson::SUCCESS) {
      return levels_left > 0 && std::ranges::all_of(json_array, [&](const element& item) {
               return holds(item, levels_left - 1);
             });
    }
    simdjson::dom::object members;
    if (value.get(members) != simdjson::SUCCESS) return true;
    if (levels_left <= 0 || has_a_key_twice(members)) return false;
    return std::ranges::all_of(members, [&](const simdjson::dom::key_value_pair& member) {
      return holds(member.value, levels_left - 1);
    });
  }

 private:
  [[nodiscard]] bool has_a_key_twice(const simdjson::dom::object& members) {
    object_keys_.clear();
    for (const simdjson::dom::key_value_pair member : members) object_keys_.push_back(member.key);
    std::ranges::sort(object_keys_);
    return std::ranges::adjacent_find(object_keys_) != object_keys_.end();
  }

  std::vector<std::string_view> object_keys_;  // the keys of one object; kept to reuse the memory
};

}  // namespace

bool JsonDocument::parse(std::string_view text, std::int64_t max_depth) {
  parser_ = std::make_unique<simdjson::dom::parser>();
  // simdjson counts one level more: it also counts the values inside the innermost list.
  const auto simdjson_depth = static_cast<std::size_t>(max_depth) + 1;
  if (parser_->allocate(text.size(), simdjson_depth) != simdjson::SUCCESS) throw std::bad_alloc();
  return parser_->parse(text.data(), text.size()).get(root_) == simdjson::SUCCESS &&
         StrictnessCheck().holds(root_, max_depth);
}

base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth) {
  JsonDocument document;
  if (document.parse(text, max_depth)) return document;
  const base::Result<std::string> normalized_json = normalize_json(text, max_depth);
  if (!normalized_json) return std::unexpected(normalized_json.error());
  if (document.parse(*normalized_json, max_depth)) return document;
  return base::fail(base::ErrorCode::kInvalid, "is not valid JSON");
}

std::string JsonCursor::path() const {
  if (parent == nullptr) return {};
  const std::string parent_path = parent->path();
  if (index >= 0) return parent_path + '[' + std::to_string(index) + ']';
  return (parent_path.empty() ? "" : parent_path + '.') + std::string(key);
}

void JsonReader::report_problem(const JsonCursor& cursor, std::string_view what) {
  if (problem_.empty()) {
    const std::string json_path = cursor.path();
    problem_ = (json_path.empty() ? "the text" : json_path) + " " + std::string(what);
  }
}

JsonCursor JsonReader::member(const JsonCursor& object, std::string_view key) {
  if (!ok() || !object.value) return {};
  JsonCursor cursor{.parent = &object, .key = key};
  simdjson::dom::object members;
  if (object.value->get(members) != simdjson::SUCCESS) {
    report_problem(object, "must be an object");
    return cursor;
  }
  element member_value;
  if (members.at_key(key).get(member_value) == simdjson::SUCCESS) cursor.value = member_value;
  return cursor;
}

JsonCursor JsonReader::required(const JsonCursor& object, std::string_view key) {
  JsonCursor cursor = member(object, key);
  if (ok() && !cursor.present()) report_problem(cursor, "is missing");
  return cursor;
}

std::int64_t JsonReader::integer(const JsonCursor& cursor, IntegerRange range) {
  if (!ok() || !cursor.value) return range.smallest;
  std::int64_t whole_number = 0;
  const bool is_whole = cursor.value->get(whole_number) == simdjson::SUCCESS;
  if (!is_whole || whole_number < range.smallest || whole_number > range.largest) {
    report_problem(cursor, "must be an integer from " + std::to_string(range.smallest) + " to " +
                               std::to_string(range.largest));
    return range.smallest;
  }
  return whole_number;
}

bool JsonReader::boolean(const JsonCursor& cursor) {
  if (!ok() || !cursor.value) return false;
  bool flag = false;
  if (cursor.value->get(flag) != simdjson::SUCCESS) report_problem(cursor, "must be true or false");
  return flag;
}

std::string JsonReader::text(const JsonCursor& cursor) {
  if (!ok() || !cursor.value) return {};
  std::string_view string_value;
  if (cursor.value->get(string_value) != simdjson::SUCCESS)
    report_problem(cursor, "must be a string");
  return std::string(string_value);
}

std::string JsonReader::nonempty_text(const JsonCursor& cursor) {
  std::string nonempty = text(cursor);
  if (ok() && cursor.present() && nonempty.empty()) report_problem(cursor, "must not be empty");
  return nonempty;
}

std::vector<JsonCursor> JsonReader::items(const JsonCursor& cursor) {
  std::vector<JsonCursor> item_cursors;
  if (!ok() || !cursor.value) return item_cursors;
  simdjson::dom::array json_array;
  if (cursor.value->get(json_array) != simdjson::SUCCESS) {
    report_problem(cursor, "must be a list");
    return item_cursors;
  }
  item_cursors.reserve(json_array.size());
  for (const element item : json_array) {
    const auto index = static_cast<std::ptrdiff_t>(item_cursors.size());
    item_cursors.push_back({.value = item, .parent = &cursor, .index = index});
  }
  return item_cursors;
}

}  // namespace snug::codec
