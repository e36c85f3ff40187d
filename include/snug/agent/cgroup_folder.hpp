// Where the cgroup of a container is. Pure; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace snug::agent {

/// The folder of a cgroup below the root of the hierarchy, with a slash before it. `path` is the
/// cgroup path of the OCI runtime: an absolute path (driver cgroupfs), or `slice:prefix:name`
/// (driver systemd), where a slice lies in those whose names are its beginnings. Nullopt: it has
/// neither form, or a part `.` or `..`.
[[nodiscard]] std::optional<std::string> cgroup_folder(std::string_view path);

}  // namespace snug::agent
