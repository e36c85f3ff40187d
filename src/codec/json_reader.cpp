#include "codec/json_reader.hpp"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <set>

#include "snug/base/text.hpp"

namespace snug::codec {
namespace {

using nlohmann::json;
using simdjson::dom::element;

/// Parses a text with nlohmann-json after simdjson has refused it. Returns the same JSON in a form
/// that simdjson accepts: integers beyond 64 bits become floating-point numbers. If the JSON is
/// invalid, the error names the position, which simdjson does not report.
base::Result<std::string> normalize_json(std::string_view text, std::int64_t max_depth) {
  std::vector<std::set<std::string>> keys;
  std::string problem;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (!problem.empty()) return false;
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= max_depth) {
      problem =
          "is nested too deeply; at most " + std::to_string(max_depth) + " levels are allowed";
      return false;
    }
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        problem = "has the key " + base::in_quotes(key) + " twice";
    }
    return problem.empty();
  };
  try {
    const json document = json::parse(text, watch);
    if (!problem.empty()) return base::fail(base::ErrorCode::kInvalid, problem);
    return document.dump();
  } catch (const json::parse_error& error) {
    if (!problem.empty()) return base::fail(base::ErrorCode::kInvalid, problem);
    return base::fail(base::ErrorCode::kInvalid,
                      "is not valid JSON at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    return base::fail(base::ErrorCode::kInvalid, "has a number that is too large to be read");
  }
}

/// Checks that a value is not nested too deeply, and that no object in it has duplicate keys.
class StrictnessCheck {
 public:
  [[nodiscard]] bool holds(const element& value, std::int64_t levels) {
    simdjson::dom::array items;
    if (value.get(items) == simdjson::SUCCESS) {
      return levels > 0 && std::ranges::all_of(
                               items, [&](const element& item) { return holds(item, levels - 1); });
    }
    simdjson::dom::object entries;
    if (value.get(entries) != simdjson::SUCCESS) return true;
    if (levels <= 0 || has_a_key_twice(entries)) return false;
    return std::ranges::all_of(entries, [&](const simdjson::dom::key_value_pair& entry) {
      return holds(entry.value, levels - 1);
    });
  }

 private:
  [[nodiscard]] bool has_a_key_twice(const simdjson::dom::object& entries) {
    keys_.clear();
    for (const simdjson::dom::key_value_pair entry : entries) keys_.push_back(entry.key);
    std::ranges::sort(keys_);
    return std::ranges::adjacent_find(keys_) != keys_.end();
  }

  std::vector<std::string_view> keys_;  // the keys of one object; kept to reuse the memory
};

}  // namespace

bool JsonDocument::parse(std::string_view text, std::int64_t max_depth) {
  parser_ = std::make_unique<simdjson::dom::parser>();
  // simdjson counts one level more: it also counts the values inside the innermost list.
  const auto depth = static_cast<std::size_t>(max_depth) + 1;
  if (parser_->allocate(text.size(), depth) != simdjson::SUCCESS) throw std::bad_alloc();
  return parser_->parse(text.data(), text.size()).get(root_) == simdjson::SUCCESS &&
         StrictnessCheck().holds(root_, max_depth);
}

base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth) {
  JsonDocument document;
  if (document.parse(text, max_depth)) return document;
  const base::Result<std::string> retold = normalize_json(text, max_depth);
  if (!retold) return std::unexpected(retold.error());
  if (document.parse(*retold, max_depth)) return document;
  return base::fail(base::ErrorCode::kInvalid, "is not valid JSON");
}

std::string JsonCursor::path() const {
  if (parent == nullptr) return {};
  const std::string outer = parent->path();
  if (index >= 0) return outer + '[' + std::to_string(index) + ']';
  return (outer.empty() ? "" : outer + '.') + std::string(key);
}

void JsonReader::report_problem(const JsonCursor& cursor, std::string_view what) {
  if (problem_.empty()) {
    const std::string place = cursor.path();
    problem_ = (place.empty() ? "the text" : place) + " " + std::string(what);
  }
}

JsonCursor JsonReader::member(const JsonCursor& object, std::string_view key) {
  if (!ok() || !object.value) return {};
  JsonCursor cursor{.parent = &object, .key = key};
  simdjson::dom::object entries;
  if (object.value->get(entries) != simdjson::SUCCESS) {
    report_problem(object, "must be an object");
    return cursor;
  }
  element found;
  if (entries.at_key(key).get(found) == simdjson::SUCCESS) cursor.value = found;
  return cursor;
}

JsonCursor JsonReader::required(const JsonCursor& object, std::string_view key) {
  JsonCursor cursor = member(object, key);
  if (ok() && !cursor.present()) report_problem(cursor, "is missing");
  return cursor;
}

std::int64_t JsonReader::integer(const JsonCursor& cursor, IntegerRange range) {
  if (!ok() || !cursor.value) return range.smallest;
  std::int64_t value = 0;
  const bool is_whole = cursor.value->get(value) == simdjson::SUCCESS;
  if (!is_whole || value < range.smallest || value > range.largest) {
    report_problem(cursor, "must be an integer from " + std::to_string(range.smallest) + " to " +
                               std::to_string(range.largest));
    return range.smallest;
  }
  return value;
}

bool JsonReader::boolean(const JsonCursor& cursor) {
  if (!ok() || !cursor.value) return false;
  bool value = false;
  if (cursor.value->get(value) != simdjson::SUCCESS)
    report_problem(cursor, "must be true or false");
  return value;
}

std::string JsonReader::text(const JsonCursor& cursor) {
  if (!ok() || !cursor.value) return {};
  std::string_view value;
  if (cursor.value->get(value) != simdjson::SUCCESS) report_problem(cursor, "must be a string");
  return std::string(value);
}

std::string JsonReader::nonempty_text(const JsonCursor& cursor) {
  std::string result = text(cursor);
  if (ok() && cursor.present() && result.empty()) report_problem(cursor, "must not be empty");
  return result;
}

std::vector<JsonCursor> JsonReader::items(const JsonCursor& cursor) {
  std::vector<JsonCursor> result;
  if (!ok() || !cursor.value) return result;
  simdjson::dom::array list;
  if (cursor.value->get(list) != simdjson::SUCCESS) {
    report_problem(cursor, "must be a list");
    return result;
  }
  result.reserve(list.size());
  for (const element item : list) {
    const auto index = static_cast<std::ptrdiff_t>(result.size());
    result.push_back({.value = item, .parent = &cursor, .index = index});
  }
  return result;
}

}  // namespace snug::codec
