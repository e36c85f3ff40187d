// Reads and writes the files that the configuration file or a flag names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug::config {

/// Returns the file's content. kTooLarge: the file has more than `most` bytes. kInvalid: it cannot
/// be read. The error message names the file.
[[nodiscard]] base::Result<std::string> read_file(const std::string& path, std::int64_t most);

/// Returns the one token that the file has, without the line break at its end. kInvalid: the file
/// has other characters than printable ASCII, or no token. The error message names the file.
[[nodiscard]] base::Result<std::string> read_token_file(const std::string& path,
                                                        const base::Limits& limits);

/// Replaces the file's content atomically: writes a temporary file in the same directory and
/// renames it. Writes to a device or pipe directly. The error message names the file.
[[nodiscard]] base::Result<void> write_file(const std::string& path, std::string_view text);

/// Returns an error if write_file() could not create the file. Does not change the file.
[[nodiscard]] base::Result<void> check_writable(const std::string& path);

}  // namespace snug::config
