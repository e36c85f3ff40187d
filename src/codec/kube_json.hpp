// Reads pods and nodes from a simdjson DOM. kube_objects, manifests and extender_reader use it.
// Unknown fields are ignored, and null counts as absent. A duplicate of a known field and a wrong
// type are errors. The first error ends the walk and names its place in the object. Elements and
// views are valid until the next parse of their parser. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "codec/kube_walk_errors.hpp"
#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node_inventory.hpp"
#include "snug/model/pod.hpp"

namespace snug::codec {

/// How keys are compared. kAny ignores the letter case, as Go does for the structs of the extender
/// API. kExact is for Kubernetes objects, whose keys must match exactly.
enum class KeyCase : std::uint8_t { kExact, kAny };

/// Reads typed values from JSON. After an error, its functions do nothing.
class DomWalk : public WalkErrors {
 public:
  using Value = simdjson::dom::element;
  using Field = WalkField<Value>;

  /// Fills `known_fields` with the fields of the object. Fails if one of them is a duplicate.
  void fields(const simdjson::dom::element& object, const FieldPath& where,
              std::span<Field> known_fields, KeyCase key_case = KeyCase::kExact);
  /// Returns `object` itself. In protobuf, some fields of an object are in an embedded message,
  /// which ProtoWalk::embedded() returns; in JSON, they are fields of the object.
  static simdjson::dom::element embedded(const simdjson::dom::element& object,
                                         const Field& /*field*/, const FieldPath& /*where*/) {
    return object;
  }
  void text(const Field& field, const FieldPath& parent, std::string& out);
  void number(const Field& field, const FieldPath& parent, std::int32_t& out);
  /// Reads the text of a time. Returns false if the field is absent or empty.
  bool time(const Field& field, const FieldPath& parent, std::string& out);
  /// Copies the entries that `rule` keeps, except those with the value null. A duplicate of a kept
  /// key is an error.
  void map(const Field& field, const FieldPath& parent, MapRule rule, model::StringMap& out);

  /// Calls visit(element, path) for each item of the array.
  template <typename Visit>
  void each_item(const Field& field, const FieldPath& parent, Visit visit);
  /// Calls visit(key, element, path) for each entry of the object.
  template <typename Visit>
  void each_entry(const Field& field, const FieldPath& parent, Visit visit);

 private:
  void fail_wrong_type(const simdjson::dom::element& json_value, const FieldPath& where,
                       std::string_view expected);
};

using Field = DomWalk::Field;

/// A simdjson parser and a buffer with padding, which are reused between calls.
class DomParser {
 public:
  explicit DomParser(const base::Limits& limits);

  /// Parses a copy of the text.
  [[nodiscard]] base::Result<simdjson::dom::element> parse(std::string_view json);
  /// Parses `json` without a copy, and increases its capacity because simdjson needs padding.
  /// `json` must outlive the element. May overwrite the contents of managedFields.
  [[nodiscard]] base::Result<simdjson::dom::element> parse_in_place(std::string& json);
  /// Frees buffers beyond kMaxPooledBufferBytes. Invalidates all elements.
  void trim();

 private:
  std::size_t max_depth_;
  std::unique_ptr<simdjson::dom::parser> parser_;
  std::string buffer_;
};

[[nodiscard]] base::Result<model::PodFacts> pod_from(const simdjson::dom::element& pod,
                                                     const FieldPath& where);
[[nodiscard]] base::Result<model::NodeFacts> node_from(const simdjson::dom::element& node,
                                                       const FieldPath& where);
/// Returns metadata.name of an object of any kind. A missing or empty name is an error.
[[nodiscard]] base::Result<std::string_view> object_name(const simdjson::dom::element& object,
                                                         const FieldPath& where);

template <typename Visit>
void DomWalk::each_item(const Field& field, const FieldPath& parent, Visit visit) {
  if (!ok() || !field.present) return;
  simdjson::dom::array items;
  if (field.value.get(items) != simdjson::SUCCESS) {
    fail_wrong_type(field.value, FieldPath{&parent, field.key}, "an array");
    return;
  }
  std::ptrdiff_t index = 0;
  for (const simdjson::dom::element item : items) {
    visit(item, FieldPath{&parent, field.key, index++});
    if (!ok()) return;
  }
}

template <typename Visit>
void DomWalk::each_entry(const Field& field, const FieldPath& parent, Visit visit) {
  if (!ok() || !field.present) return;
  const FieldPath map_path{&parent, field.key};
  simdjson::dom::object entries;
  if (field.value.get(entries) != simdjson::SUCCESS) {
    fail_wrong_type(field.value, map_path, "an object");
    return;
  }
  for (const simdjson::dom::key_value_pair entry : entries) {
    visit(entry.key, entry.value, FieldPath{&map_path, entry.key});
    if (!ok()) return;
  }
}

}  // namespace snug::codec
