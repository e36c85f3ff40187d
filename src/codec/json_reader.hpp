// Reads small JSON texts of Snug's own formats (inventory, reservation) into typed values. A
// JsonReader keeps the first problem and returns defaults after it, so that a decoder checks for
// errors once, at its end. Unknown keys are ignored; a known key of a wrong type is a problem that
// names its path. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug::codec {

/// A parsed text. Its elements are valid during its lifetime, also after it has been moved.
class JsonDocument {
 public:
  [[nodiscard]] const simdjson::dom::element& root() const { return root_; }

 private:
  friend base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth);

  /// False: the text is invalid, has duplicate keys, or is nested too deeply.
  [[nodiscard]] bool parse(std::string_view text, std::int64_t max_depth);

  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
};

/// Refuses invalid JSON, nesting deeper than `max_depth`, and duplicate keys in one object.
[[nodiscard]] base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth);

struct IntegerRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};

inline constexpr IntegerRange kNonNegative{0, base::kLargestQuantity};
inline constexpr IntegerRange kPositive{1, base::kLargestQuantity};
inline constexpr IntegerRange kGpuIndex{0, 65'535};
/// Positions on a GPU's memory-slice axis; the longest known axis has 12.
inline constexpr IntegerRange kAxisStart{0, model::kMaxAxisSlices - 1};
inline constexpr IntegerRange kAxisSize{1, model::kMaxAxisSlices};

/// A value with its path, like `gpus[2].memoryMiB`. The path's text is built only for a problem.
/// The enclosing value must outlive it.
struct JsonCursor {
  std::optional<simdjson::dom::element> value;  // nullopt: the key is absent
  const JsonCursor* parent = nullptr;           // null: the whole text
  std::string_view key;
  std::ptrdiff_t index = -1;  // not negative: an item of a list

  [[nodiscard]] bool present() const { return value.has_value(); }
  [[nodiscard]] std::string path() const;
};

class JsonReader {
 public:
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  /// The first problem: `PLACE WHAT`.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void report_problem(const JsonCursor& cursor, std::string_view what);

  /// The member; absent if the object lacks it. A problem if the value is not an object.
  [[nodiscard]] JsonCursor member(const JsonCursor& object, std::string_view key);
  /// The member; a problem if it is absent.
  [[nodiscard]] JsonCursor required(const JsonCursor& object, std::string_view key);
  [[nodiscard]] std::vector<JsonCursor> items(const JsonCursor& cursor);
  // The result refers to the argument, which must not be a temporary.
  JsonCursor member(const JsonCursor&& object, std::string_view key) = delete;
  JsonCursor required(const JsonCursor&& object, std::string_view key) = delete;
  std::vector<JsonCursor> items(const JsonCursor&& cursor) = delete;

  [[nodiscard]] std::int64_t integer(const JsonCursor& cursor, IntegerRange range);
  [[nodiscard]] bool boolean(const JsonCursor& cursor);
  [[nodiscard]] std::string text(const JsonCursor& cursor);
  [[nodiscard]] std::string nonempty_text(const JsonCursor& cursor);

 private:
  std::string problem_;
};

}  // namespace snug::codec
