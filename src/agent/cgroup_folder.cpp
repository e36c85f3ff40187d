#include "snug/agent/cgroup_folder.hpp"

#include <cstddef>

namespace snug::agent {
namespace {

constexpr std::string_view kSlice = ".slice";

bool is_name(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find_first_of(std::string_view("/:\0", 3)) == text.npos;
}

std::optional<std::string> plain_folder(std::string_view path) {
  std::string folder;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    if (!is_name(part)) return std::nullopt;
    folder.append("/").append(part);
    path.remove_prefix(part.size());
  }
  return folder.empty() ? std::nullopt : std::optional(folder);
}

/// `a-b.slice` lies in `a.slice`.
std::optional<std::string> slice_folder(std::string_view slice) {
  if (slice == "-.slice") return "";
  if (!is_name(slice) || !slice.ends_with(kSlice)) return std::nullopt;
  const std::string_view name = slice.substr(0, slice.size() - kSlice.size());
  std::string folder;
  std::size_t begin = 0;
  while (true) {
    const std::size_t dash = name.find('-', begin);
    const std::size_t end = dash == name.npos ? name.size() : dash;
    if (end == begin) return std::nullopt;  // systemd has no slice with an empty part
    folder.append("/").append(name.substr(0, end)).append(kSlice);
    if (dash == name.npos) return folder;
    begin = end + 1;
  }
}

}  // namespace

std::optional<std::string> cgroup_folder(std::string_view path) {
  if (path.starts_with('/')) return plain_folder(path);
  const std::size_t first = path.find(':');
  if (first == path.npos) return std::nullopt;
  const std::size_t second = path.find(':', first + 1);
  if (second == path.npos) return std::nullopt;
  const std::string_view prefix = path.substr(first + 1, second - first - 1);
  const std::string_view name = path.substr(second + 1);
  auto folder = slice_folder(path.substr(0, first));
  if (!folder || !is_name(name) || (!prefix.empty() && !is_name(prefix))) return std::nullopt;
  folder->append("/");
  if (!prefix.empty()) folder->append(prefix).append("-");
  return folder->append(name).append(".scope");
}

}  // namespace snug::agent
