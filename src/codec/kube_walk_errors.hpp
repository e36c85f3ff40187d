// Types for reading the fields of Kubernetes objects: paths, fields, and the first error. DomWalk
// (kube_json.hpp) reads JSON, ProtoWalk (kube_proto.cpp) reads protobuf, and kube_pod_reader.hpp
// reads pods with either of them. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/result.hpp"
#include "snug/model/node_inventory.hpp"

namespace snug::codec {

/// The path of a field. Its text, such as `Pod.metadata`, is made only for an error. If the
/// outermost name is a phrase, such as `the body`, the text is `the body's Pod`.
struct FieldPath {
  const FieldPath* parent = nullptr;
  std::string_view name;
  std::ptrdiff_t index = -1;  // if not negative, `[index]` follows `name`

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] bool is_phrase() const { return parent == nullptr && name.starts_with("the "); }
};

/// A field to read. JSON finds it by `key`, protobuf by `number`. If the field is null, `seen` is
/// true and `present` is false; if it is absent, both are false.
template <typename Value>
struct WalkField {
  std::string_view key;
  std::uint32_t number = 0;
  Value value{};
  bool seen = false;
  bool present = false;
};

/// Says which entries of a map are copied to another map than the rest.
struct StrayRule {
  /// As request::is_stray_annotation(). Null: no entry is copied.
  bool (*keep)(std::string_view key, std::size_t& compared) = nullptr;
  model::StringMap* out = nullptr;  // gets at most base::kMaxStrayKeys
  std::size_t compared = 0;         // for `keep`

  /// Copies the entry, with the beginning of its value, if `keep` accepts its key.
  void offer(std::string_view key, std::string_view value);
};

/// Says which entries of a map are copied, and how.
struct MapRule {
  bool (*keep)(std::string_view key);
  bool quantities = false;       // the values are resource quantities; their text is copied
  std::size_t* bytes = nullptr;  // if not null, is increased by the bytes of all keys and values
  bool* others = nullptr;        // if not null, is set to true if `keep` rejects a key
  std::size_t most = SIZE_MAX;   // at most this many entries are copied
  StrayRule stray = {};          // applies to the entries that `keep` rejects
};

/// Keeps the first error. After it, the functions of a walk do nothing.
class WalkErrors {
 public:
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::unexpected<base::Error> take_error() {
    return std::unexpected(std::move(error_));
  }
  void fail_at(const FieldPath& where, std::string_view problem);
  void fail_with(base::Error error);

 private:
  bool ok_ = true;
  base::Error error_;
};

}  // namespace snug::codec
