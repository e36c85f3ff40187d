#include "snug/adapters/host/mps_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "adapters/host/driver_nodes.hpp"
#include "adapters/host/replace_file.hpp"
#include "adapters/host/rooted_path.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;

/// What has the uuid of a GPU as its name in the folder; sorted.
base::Result<std::vector<std::string>> gpu_files(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    if (mps::is_gpu_uuid(name)) names.push_back(std::move(name));
  }
  if (error) {
    return base::fail(base::ErrorCode::kUnavailable,
                      folder + ": cannot be listed: " + error.message());
  }
  std::ranges::sort(names);
  return names;
}

base::Result<void> remove_request(const std::string& path) {
  // A folder is no request.
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == EISDIR) return {};
  return failed(path, "cannot be removed");
}

/// In the place of an empty folder or of what is no regular file.
base::Result<void> make_request(const std::string& path, const std::string& temporary,
                                const std::string& text) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) {
    fs::remove(path, error);
  } else if (const auto present = read_host_file(path); present && *present == text) {
    return {};
  }
  return replace_file(path, temporary, text);
}

/// How long ago the file was written; nullopt: there is none.
std::optional<std::chrono::milliseconds> age_of(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const auto written = std::chrono::seconds(status.st_mtim.tv_sec) +
                       std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch() - written);
}

}  // namespace

base::Result<void> MpsFolder::want_daemons(const mps::WantedDaemons& wanted) {
  for (const auto& [uuid, namespaces] : wanted) {
    if (!mps::is_gpu_uuid(uuid)) {
      return base::fail(base::ErrorCode::kInvalid, base::in_quotes(uuid) +
                                                       " is no uuid of a GPU, such as "
                                                       "GPU-01234567-89ab-cdef-0123-456789abcdef");
    }
  }
  const base::MutexLock lock(mutex_);
  const std::string folder = join(root_, mps::kWantedFolder);
  const auto present = gpu_files(folder);
  if (!present) return std::unexpected(present.error());
  base::Result<void> result;  // a file that cannot be changed does not keep the others from it
  for (const std::string& name : *present) {
    if (wanted.contains(name)) continue;
    if (auto removed = remove_request(join(folder, name)); !removed) result = removed;
  }
  std::error_code error;
  if (!wanted.empty()) fs::create_directories(folder, error);  // if it fails, so does the next step
  for (const auto& [uuid, namespaces] : wanted) {
    // Beside the folder, since snug-mps names what it ignores there.
    auto made =
        make_request(join(folder, uuid), join(root_, ".wanted.tmp"), mps::write_wanted(namespaces));
    if (!made) result = made;
  }
  return result;
}

base::Result<std::map<std::string, mps::DaemonState, std::less<>>> MpsFolder::daemon_states() {
  std::map<std::string, mps::DaemonState, std::less<>> states;
  const std::string folder = join(root_, mps::kStateFolder);
  const auto names = gpu_files(folder);
  if (!names) return std::unexpected(names.error());
  constexpr std::chrono::milliseconds kStale(base::agent_limits::mps_state_stale_ms);
  for (const std::string& name : *names) {
    const std::string path = join(folder, name);
    const auto age = age_of(path);
    if (!age) continue;  // it is no file, or was removed meanwhile
    const auto text = read_host_file(path);
    const auto state = text ? mps::read_state(*text) : std::nullopt;
    if (!state) continue;
    if (*age >= kStale) {
      states[name] = {mps::DaemonPhase::kFailed, "snug-mps has not reported the MPS daemon for " +
                                                     std::to_string(age->count() / 1000) +
                                                     " seconds"};
    } else {
      states[name] = *state;
    }
  }
  return states;
}

}  // namespace snug::host
