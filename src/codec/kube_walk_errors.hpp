// What the walks over Kubernetes objects share: places, fields, and the first error. DomWalk
// (kube_dom) walks JSON, ProtoWalk (kube_proto) walks protobuf, and kube_reading reads pods and
// nodes with either. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "snug/base/result.hpp"

namespace snug::codec {

/// A place in an object; spelled out only for an error: `Pod.metadata`, or `the body's Pod` where
/// the outermost is named in words.
struct FieldPath {
  const FieldPath* parent = nullptr;
  std::string_view name;
  std::ptrdiff_t index = -1;  // not negative: `name` is followed by [index]

  [[nodiscard]] std::string to_text() const;
  [[nodiscard]] bool is_phrase() const { return parent == nullptr && name.starts_with("the "); }
};

/// A field to be read: JSON finds it by its key, protobuf by its number. `present` stays false if
/// it is absent or null.
template <typename Value>
struct WalkField {
  std::string_view key;
  std::uint32_t number = 0;
  Value value{};
  bool seen = false;
  bool present = false;
};

/// Which entries of a map are read, and how.
struct MapRule {
  bool (*keep)(std::string_view key);
  bool quantities = false;       // values are resource quantities, and keep their text
  std::size_t* bytes = nullptr;  // counts all keys and values, kept or not
  bool* others = nullptr;        // set to true if a key is not kept
  std::size_t most = SIZE_MAX;   // the first `most` entries are kept
};

/// Remembers the first error; after one, every call of a walk is a no-op.
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
