// Where tests find the files of the source tree.
#pragma once

#include <string>
#include <string_view>

namespace snug {

/// Returns the path of a file or folder, which is given as a path in the source tree.
[[nodiscard]] std::string source_file(std::string_view path);

}  // namespace snug
