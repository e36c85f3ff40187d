// Reads typed values from the JSON of a Kubernetes object. Unknown fields are ignored, and null
// counts as absent. The first value of a wrong type is kept as the problem, which names its place;
// after it, all functions return empty values, so that a caller checks ok() once, at the end. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::agent_codec {

/// Parses `json`, without the contents of managedFields. `kind` names the object in errors.
/// kTooLarge: the text is longer than maxObjectBytes. kInvalid: it is not JSON, or is nested deeper
/// than max_json_depth.
[[nodiscard]] base::Result<nlohmann::json> parse_object(std::string_view json,
                                                        std::string_view kind,
                                                        const base::Limits& limits);

/// A value and its path. The text of the path is made only for a problem. `parent` must outlive the
/// place.
struct JsonPlace {
  const nlohmann::json* value = nullptr;  // null: the value is absent
  const JsonPlace* parent = nullptr;
  std::string_view key;
  std::ptrdiff_t index = -1;  // not negative: an item of the list `parent`

  [[nodiscard]] bool present() const { return value != nullptr; }
  [[nodiscard]] std::string path() const;
};

class ObjectReader {
 public:
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  [[nodiscard]] std::unexpected<base::Error> error() const {
    return base::fail(base::ErrorCode::kInvalid, problem_);
  }
  void report(const JsonPlace& place, std::string_view problem);

  [[nodiscard]] JsonPlace member(const JsonPlace& object, std::string_view key);
  JsonPlace member(const JsonPlace&& object, std::string_view key) = delete;

  [[nodiscard]] std::string text(const JsonPlace& place);
  /// Reports a problem if the text is absent or empty.
  [[nodiscard]] std::string required_text(const JsonPlace& place);
  [[nodiscard]] bool boolean(const JsonPlace& place);

  /// Calls visit(place) for each item of the list.
  template <typename Visit>
  void each_item(const JsonPlace& list, const Visit& visit) {
    if (!has_type(list, nlohmann::json::value_t::array)) return;
    std::ptrdiff_t index = 0;
    for (const nlohmann::json& item : *list.value) {
      visit(JsonPlace{.value = &item, .parent = &list, .index = index++});
      if (!ok()) return;
    }
  }
  /// Calls visit(key, place) for each member of the object whose value is not null.
  template <typename Visit>
  void each_member(const JsonPlace& object, const Visit& visit) {
    if (!has_type(object, nlohmann::json::value_t::object)) return;
    for (const auto& [key, value] : object.value->items()) {
      if (value.is_null()) continue;
      visit(key, JsonPlace{.value = &value, .parent = &object, .key = key});
      if (!ok()) return;
    }
  }

 private:
  /// False if the value is absent, or after a problem. Reports a problem if it has another type.
  [[nodiscard]] bool has_type(const JsonPlace& place, nlohmann::json::value_t type);

  std::string problem_;
};

}  // namespace snug::agent_codec
