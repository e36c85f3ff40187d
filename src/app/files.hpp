// Files that the configuration names.
#pragma once

#include <cstdint>
#include <string>

#include "snug/base/result.hpp"

namespace snug {

/// The file's text; an error names the file. At most `most` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t most);

}  // namespace snug
