// Follows symbolic links as if a folder were the root of all files. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snug::host {

/// Joins two paths with one slash between them.
[[nodiscard]] std::string join(std::string_view folder, std::string_view path);

/// The path, below `root`, to which `path` leads if `root` is the root folder: absolute links begin
/// at `root`, and `..` does not leave it. The result begins with a slash and has no symbolic links.
/// Nullopt: something on the way does not exist, or there are more than max_symbolic_links.
[[nodiscard]] std::optional<std::string> follow_links(const std::string& root,
                                                      std::string_view path);

}  // namespace snug::host
