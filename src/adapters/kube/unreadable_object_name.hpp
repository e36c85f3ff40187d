// Finds the name of an object that cannot be parsed, for messages.
#pragma once

#include <string>
#include <string_view>

#include "snug/codec/kube_objects.hpp"

namespace snug::kube {

/// Returns `NAMESPACE/NAME` or `NAME` of an object. `beginning` holds the first bytes of the
/// object, or of the watch event that contains it; kNamedWithin bytes are enough. If they contain
/// no name, returns `the object that begins`, followed by a few of these bytes.
[[nodiscard]] std::string name_unreadable(std::string_view beginning,
                                          codec::WireFormat format = codec::WireFormat::kJson);

/// The name and namespace of an object are within this many bytes from its beginning. They take
/// about 600 bytes at most, and the API server writes them before every field that may be longer.
inline constexpr std::size_t kNamedWithin = 2048;

}  // namespace snug::kube
