// The name of an object that cannot be parsed, for messages.
#pragma once

#include <string>
#include <string_view>

#include "snug/codec/kube_objects.hpp"

namespace snug::kube {

/// `NAMESPACE/NAME` or `NAME` of an object, or of the object in a watch event, if the beginning has
/// it; else `the object that begins …`. The first kNamedWithin bytes of a large object are enough.
[[nodiscard]] std::string name_unreadable(std::string_view beginning,
                                          codec::WireFormat format = codec::WireFormat::kJson);

/// The API server writes the names, some 600 bytes, before everything that may be long.
inline constexpr std::size_t kNamedWithin = 2048;

}  // namespace snug::kube
