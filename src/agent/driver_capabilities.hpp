// Which libraries and programs of the driver a container gets, by NVIDIA_DRIVER_CAPABILITIES. Pure;
// thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace snug::agent {

/// A set of NVIDIA's driver capabilities.
using Capabilities = unsigned;
inline constexpr Capabilities kCompute = 1;
inline constexpr Capabilities kUtility = 2;
inline constexpr Capabilities kVideo = 4;
inline constexpr Capabilities kGraphics = 8;
inline constexpr Capabilities kDisplay = 16;
inline constexpr Capabilities kNgx = 32;

/// The capabilities that the variable's value names, and compute and utility, which every container
/// with a GPU gets. Unknown names are ignored.
[[nodiscard]] Capabilities wanted_capabilities(std::optional<std::string_view> value);

/// The capabilities that need the library, by its file name like libcuda.so.1. A library that is
/// not in the table counts as compute: newer drivers have libraries that libcuda.so loads.
[[nodiscard]] Capabilities library_capabilities(std::string_view file_name);

}  // namespace snug::agent
