// Whom a sentence about an object that cannot be read may name.
#pragma once

#include <string>
#include <string_view>

#include "snug/codec/kube_objects.hpp"

namespace snug {

/// `NAMESPACE/NAME` or `NAME` of an object, or of the object in a watch event, if its beginning
/// tells; else `the object that begins …`. Of a large object the first kNamedWithin bytes are
/// enough.
[[nodiscard]] std::string name_unreadable(std::string_view beginning,
                                          WireFormat format = WireFormat::kJson);

/// The API server writes names before all else that may be long; together they have some 600 bytes.
inline constexpr std::size_t kNamedWithin = 2048;

}  // namespace snug
