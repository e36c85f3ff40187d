// Checks the names of Kubernetes objects, and finds the name of an object that cannot be parsed.
// Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/codec/kube_objects.hpp"

namespace snug::codec {

/// Bytes of the longest name that Kubernetes allows.
inline constexpr std::size_t kMaxObjectName = 253;

/// Whether `text` can name a pod, node, namespace or Lease: 1 to 253 characters a-z, 0-9, `-` and
/// `.`, of which the first and the last are letters or digits. A URL path may contain only names
/// for which this is true.
[[nodiscard]] bool is_object_name(std::string_view text);

/// Fails with kInvalid if is_object_name(name) is false. `object_kind` is the kind of the object,
/// for the error message.
[[nodiscard]] base::Result<void> check_object_name(std::string_view object_kind,
                                                   std::string_view name);

/// Returns `NAMESPACE/NAME` or `NAME` of an object. `beginning` holds the first bytes of the
/// object, or of the watch event that contains it; kNamedWithin bytes are enough. If they contain
/// no name, returns `the object that begins`, followed by a few of these bytes.
[[nodiscard]] std::string name_unreadable(std::string_view beginning,
                                          WireFormat format = WireFormat::kJson);

/// The name and namespace of an object are within this many bytes from its beginning. They take
/// about 600 bytes at most, and the API server writes them before every field that may be longer.
inline constexpr std::size_t kNamedWithin = 2048;

/// Returns the name of the first object in the list `body`, which is JSON. Empty if there is none.
[[nodiscard]] std::string first_item_name(std::string_view body);

}  // namespace snug::codec
