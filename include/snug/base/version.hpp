// The version of the programs.
#pragma once

#include <string>
#include <string_view>

namespace snug::base {

/// Returns the version, such as `0.1.0`. Pure; thread-safe.
[[nodiscard]] std::string version();
/// Returns the program's name and version, as its --version prints them: `snugctl 0.1.0`.
[[nodiscard]] std::string version_of(std::string_view program);

}  // namespace snug::base
