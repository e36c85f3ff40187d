// Reads pods and nodes from a simdjson DOM; shared by kube_objects and extender_codec, so that
// there is one reader of Kubernetes objects. Unknown fields are ignored, null counts as absent, a
// known field may come once and must have its type; the first error ends a walk and names its
// place. Not thread-safe. Elements and views are valid until their parser's next parse.
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

/// Go matches the keys of its own structs in any letter case, those of Kubernetes objects exactly.
enum class KeyCase : std::uint8_t { kExact, kAny };

/// Typed access to JSON.
class DomWalk : public WalkErrors {
 public:
  using Value = simdjson::dom::element;
  using Field = WalkField<Value>;

  /// Fills `wanted` from the object; each of them at most once in it.
  void fields(const simdjson::dom::element& object, const FieldPath& where, std::span<Field> wanted,
              KeyCase key_case = KeyCase::kExact);
  /// The message that protobuf embeds in `object` as `field`: in JSON its fields are among the
  /// object's own.
  static simdjson::dom::element embedded(const simdjson::dom::element& object,
                                         const Field& /*field*/, const FieldPath& /*where*/) {
    return object;
  }
  void text(const Field& field, const FieldPath& parent, std::string& out);
  void number(const Field& field, const FieldPath& parent, std::int32_t& out);
  /// The text of a time; false: the field is absent.
  bool time(const Field& field, const FieldPath& parent, std::string& out);
  /// Copies the entries whose keys are kept. A kept key may come only once, even with null.
  void map(const Field& field, const FieldPath& parent, const MapRule& rule, model::StringMap& out);

  /// Calls visit(element, Where) for each item of the array.
  template <typename Visit>
  void each_item(const Field& field, const FieldPath& parent, Visit visit);
  /// Calls visit(key, element, Where) for each entry of the object.
  template <typename Visit>
  void each_entry(const Field& field, const FieldPath& parent, Visit visit);

 private:
  void fail_wrong_type(const simdjson::dom::element& found, const FieldPath& where,
                       std::string_view expected);
};

using Field = DomWalk::Field;

/// A parser with its padded buffer, kept between calls.
class DomParser {
 public:
  explicit DomParser(const base::Limits& limits);

  /// Copies the text.
  [[nodiscard]] base::Result<simdjson::dom::element> parse(std::string_view json);
  /// Parses in place: adds capacity to the text for simdjson's padding. The text outlives the
  /// element.
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
/// metadata.name alone, of any object; never empty.
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
  const FieldPath here{&parent, field.key};
  simdjson::dom::object entries;
  if (field.value.get(entries) != simdjson::SUCCESS) {
    fail_wrong_type(field.value, here, "an object");
    return;
  }
  for (const simdjson::dom::key_value_pair entry : entries) {
    visit(entry.key, entry.value, FieldPath{&here, entry.key});
    if (!ok()) return;
  }
}

}  // namespace snug::codec
