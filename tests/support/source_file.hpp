// Where tests find the files of the source tree.
#pragma once

#include <string>
#include <string_view>

namespace snug {

/// Returns the full path of a file or folder of the source tree; `path` is relative to its root.
[[nodiscard]] std::string source_file(std::string_view path);

}  // namespace snug
