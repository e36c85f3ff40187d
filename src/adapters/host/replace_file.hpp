// Writes files that others read meanwhile. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::host {

/// kUnavailable: `path: what: ` and the text of errno.
[[nodiscard]] std::unexpected<base::Error> failed(const std::string& path, std::string_view what);

/// Replaces or makes a file, atomically: readers see the old or the new bytes. Everybody may read
/// it. `temporary` is in the same folder, and no other call uses it; if it is there, it is removed.
[[nodiscard]] base::Result<void> replace_file(const std::string& path, const std::string& temporary,
                                              std::string_view text);

}  // namespace snug::host
