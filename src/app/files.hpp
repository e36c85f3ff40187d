// Files that the configuration or a flag names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug {

/// The file's text; an error names the file. At most `most` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::int64_t most);

/// Puts the text into the file, all of it or nothing: under a name beside it first, which then
/// takes its place. What is no plain file (a device, a pipe) is written to. An error names the
/// file.
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

/// Whether write_file would create its file; nothing has changed after it.
[[nodiscard]] Result<void> check_writable(const std::string& path);

}  // namespace snug
