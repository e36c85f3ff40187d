#include "adapters/host/rooted_path.hpp"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "snug/base/agent_limits.hpp"

namespace snug::host {

std::string join(std::string_view folder, std::string_view path) {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  while (path.starts_with('/')) path.remove_prefix(1);
  return std::string(folder) + "/" + std::string(path);
}

std::optional<std::string> follow_links(const std::string& root, std::string_view path) {
  std::string done;  // empty: the root
  std::string rest(path);
  std::int64_t links = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string part = rest.substr(0, slash);
    rest.erase(0, slash == std::string::npos ? rest.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      done.resize(done.empty() ? 0 : done.rfind('/'));
      continue;
    }
    const std::string next = join(done, part);
    std::error_code error;
    const auto status = std::filesystem::symlink_status(join(root, next), error);
    if (error || !std::filesystem::exists(status)) return std::nullopt;
    if (!std::filesystem::is_symlink(status)) {
      done = next;
      continue;
    }
    const std::string target = std::filesystem::read_symlink(join(root, next), error).string();
    if (error || ++links > base::agent_limits::max_symbolic_links) return std::nullopt;
    if (target.starts_with('/')) done.clear();
    rest = join(target, rest);
  }
  return done.empty() ? "/" : done;
}

}  // namespace snug::host
