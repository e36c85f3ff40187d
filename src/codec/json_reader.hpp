// Reads JSON of Snug's own formats (inventory, reservation) into typed values. A JsonReader keeps
// the first problem and returns default values after it, so its caller checks ok() once, at the
// end. Unknown keys are ignored. A known key of a wrong type is a problem that names the path of
// the key. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/base/units.hpp"
#include "snug/model/mig.hpp"

namespace snug::codec {

/// A parsed JSON text. Its elements are valid while the document exists, and stay valid if the
/// document is moved.
class JsonDocument {
 public:
  [[nodiscard]] const simdjson::dom::element& root() const { return root_; }

 private:
  friend base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth);

  /// Returns false if the text is invalid, has duplicate keys, or is nested too deeply.
  [[nodiscard]] bool parse(std::string_view text, std::int64_t max_depth);

  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element root_;
};

/// Parses `text`. Fails if the JSON is invalid, is nested deeper than `max_depth`, or has an object
/// with duplicate keys.
[[nodiscard]] base::Result<JsonDocument> parse_json(std::string_view text, std::int64_t max_depth);

struct IntegerRange {
  std::int64_t smallest = 0;
  std::int64_t largest = 0;
};

inline constexpr IntegerRange kNonNegative{0, base::kLargestQuantity};
inline constexpr IntegerRange kPositive{1, base::kLargestQuantity};
inline constexpr IntegerRange kGpuIndex{0, 65'535};
/// The ranges of the start and of the size of a MIG slice, in memory slices of the GPU. Known GPUs
/// have at most 12 memory slices.
inline constexpr IntegerRange kAxisStart{0, model::kMaxAxisSlices - 1};
inline constexpr IntegerRange kAxisSize{1, model::kMaxAxisSlices};

/// A JSON value and its path, such as `gpus[2].memoryMiB`. The text of the path is built only for a
/// problem. `parent` must outlive the cursor.
struct JsonCursor {
  std::optional<simdjson::dom::element> value;  // nullopt: the key is absent
  const JsonCursor* parent = nullptr;           // null: this is the root of the text
  std::string_view key;                         // the key, if this is a member of an object
  std::ptrdiff_t index = -1;                    // the index, if this is an item of a list; or -1

  [[nodiscard]] bool present() const { return value.has_value(); }
  [[nodiscard]] std::string path() const;
};

class JsonReader {
 public:
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  /// The first problem: the path of the value, and what is wrong with it. Empty if there is none.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void report_problem(const JsonCursor& cursor, std::string_view what);

  /// Returns a cursor to the member `key` of the object. The cursor has no value if the member is
  /// absent. Reports a problem if `object` has a value that is not a JSON object.
  [[nodiscard]] JsonCursor member(const JsonCursor& object, std::string_view key);
  /// The same as member(), but reports a problem if the member is absent.
  [[nodiscard]] JsonCursor required(const JsonCursor& object, std::string_view key);
  /// Returns cursors to the items of the list. Empty if `cursor` has no value.
  [[nodiscard]] std::vector<JsonCursor> items(const JsonCursor& cursor);
  // These overloads forbid temporary arguments, because the result has a pointer to the argument.
  JsonCursor member(const JsonCursor&& object, std::string_view key) = delete;
  JsonCursor required(const JsonCursor&& object, std::string_view key) = delete;
  std::vector<JsonCursor> items(const JsonCursor&& cursor) = delete;

  // Each of these functions returns a default (`range.smallest`, false or empty) if the cursor has
  // no value, or after a problem. It reports a problem if the value has another type or is not
  // allowed.
  [[nodiscard]] std::int64_t integer(const JsonCursor& cursor, IntegerRange range);
  [[nodiscard]] bool boolean(const JsonCursor& cursor);
  [[nodiscard]] std::string text(const JsonCursor& cursor);
  [[nodiscard]] std::string nonempty_text(const JsonCursor& cursor);

 private:
  std::string problem_;
};

/// Parses `text` and returns `read(reader, root)`, where `root` is the cursor to the whole text. If
/// the text cannot be parsed, or the reader has a problem, the error is `<name>: <problem>`.
template <typename Read>
[[nodiscard]] auto read_json(std::string_view text, std::string_view name, std::int64_t max_depth,
                             const Read& read)
    -> base::Result<std::invoke_result_t<const Read&, JsonReader&, const JsonCursor&>> {
  const auto unreadable = [&](const std::string& problem) {
    return base::fail(base::ErrorCode::kInvalid, std::string(name) + ": " + problem);
  };
  const base::Result<JsonDocument> document = parse_json(text, max_depth);
  if (!document) return unreadable(document.error().message);
  JsonReader reader;
  const JsonCursor root{.value = document->root()};
  auto value = read(reader, root);
  if (!reader.ok()) return unreadable(reader.problem());
  return value;
}

}  // namespace snug::codec
