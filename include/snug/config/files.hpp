// Reads and writes the files that the configuration or a flag names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::config {

/// The file's text; an error names the file. At most `most` bytes.
[[nodiscard]] base::Result<std::string> read_file(const std::string& path, std::int64_t most);

/// Replaces the file's content atomically: writes a temporary file beside it and renames that. A
/// device or pipe is written to directly. An error names the file.
[[nodiscard]] base::Result<void> write_file(const std::string& path, std::string_view text);

/// Whether write_file() could create the file; leaves everything as it was.
[[nodiscard]] base::Result<void> check_writable(const std::string& path);

}  // namespace snug::config
