#include "snug/adapters/host/daemon_folders.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <initializer_list>
#include <iterator>

#include "adapters/host/driver_nodes.hpp"
#include "adapters/host/replace_file.hpp"
#include "adapters/host/rooted_path.hpp"
#include "snug/base/agent_limits.hpp"
#include "snug/base/text.hpp"

namespace snug::host {
namespace {

namespace fs = std::filesystem;
namespace limits = base::agent_limits;

constexpr std::string_view kControlName = "nvidia-cuda-mps-control";
constexpr std::string_view kControlFolders[] = {"/usr/bin", "/bin"};
constexpr mode_t kReadable = 0755;
/// Clients of any user are served by an MPS server of their user.
constexpr mode_t kForAnyUser = 01777;

base::Result<void> make_folder(const std::string& path, mode_t mode) {
  std::error_code error;
  fs::create_directories(path, error);  // if it fails, so does the next step
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return failed(path, "is no folder, and cannot be made one");
  struct stat status{};
  const bool is_right = ::fstat(folder, &status) == 0 && (status.st_mode & 07777U) == mode;
  const bool changed = is_right || ::fchmod(folder, mode) == 0;
  const int change_error = errno;
  ::close(folder);
  errno = change_error;
  if (!changed) return failed(path, "its mode cannot be set");
  return {};
}

/// The folders of the server and of its namespaces, below the pipe folder.
constexpr int kNamespaceLevels = 2;

/// Removes all that is in the folder but the folders of these levels, which it empties. Links are
/// never followed, even if a client replaces a folder by a link meanwhile.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void empty_folder(const std::string& path, int levels) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  const std::string opened = "/proc/self/fd/" + std::to_string(folder);
  std::error_code error;
  for (fs::directory_iterator entry(opened, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code none;
    if (levels > 0 && fs::is_directory(entry->symlink_status(none))) {
      empty_folder(entry->path(), levels - 1);
    } else {
      fs::remove_all(entry->path(), none);
    }
  }
  ::close(folder);
}

/// Leaves as many as are allowed, with those first that have a folder: containers have mounted it.
/// Returns whether there were more.
bool drop_excess(mps::Namespaces& namespaces, const std::string& pipe_folder) {
  std::int64_t excess = std::ssize(namespaces) - limits::max_mps_namespaces;
  if (excess <= 0) return false;
  for (const bool drops_all : {false, true}) {
    std::erase_if(namespaces, [&](const auto& each) {
      std::error_code none;
      const bool drops =
          excess > 0 &&
          (drops_all || !fs::is_directory(fs::symlink_status(
                            join(pipe_folder, mps::namespace_folder(each.first)), none)));
      if (drops) --excess;
      return drops;
    });
  }
  return true;
}

/// Whether something else than the folder above is mounted there.
bool is_mount_point(const std::string& path) {
  struct stat own{};
  struct stat above{};
  return ::stat(path.c_str(), &own) == 0 && ::stat((path + "/..").c_str(), &above) == 0 &&
         own.st_dev != above.st_dev;
}

}  // namespace

base::Result<bool> DaemonFolders::prepare() {
  const std::string wanted = join(places_.root, mps::kWantedFolder);
  std::error_code error;
  const bool was_missing = !fs::exists(fs::symlink_status(wanted, error));
  for (const std::string& path : {places_.root, wanted, join(places_.root, mps::kStateFolder)}) {
    if (auto made = make_folder(path, kReadable); !made) return std::unexpected(made.error());
  }
  if (auto made = make_folder(shared_memory(), kForAnyUser); !made)
    return std::unexpected(made.error());
  if (places_.shared_memory_mib == 0 || is_mount_point(shared_memory())) return was_missing;
  const std::string options = "mode=1777,size=" + std::to_string(places_.shared_memory_mib) + "m";
  if (::mount("shm", shared_memory().c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options.c_str()) != 0) {
    return failed(shared_memory(), "a tmpfs cannot be mounted there");
  }
  return was_missing;
}

base::Result<mps_service::WantedFiles> DaemonFolders::wanted() {
  mps_service::WantedFiles wanted;
  const std::string folder = join(places_.root, mps::kWantedFolder);
  const auto add_problem = [&](std::string problem) {
    if (std::ssize(wanted.problems) < limits::max_mps_problems)
      wanted.problems.push_back(std::move(problem));
  };
  const auto ignore = [&](const std::string& name, std::string_view why) {
    add_problem(folder + ": " + base::in_quotes(name) + " is ignored: " + std::string(why));
  };
  std::error_code error;
  std::int64_t entries = 0;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (++entries > limits::max_mps_entries) {
      return base::fail(base::ErrorCode::kTooLarge,
                        folder + ": has more than " + std::to_string(limits::max_mps_entries) +
                            " files; remove those that are no uuids of GPUs");
    }
    const std::string name = entry->path().filename().string();
    std::error_code none;
    if (!mps::is_gpu_uuid(name)) {
      ignore(name, "it is no uuid of a GPU");
    } else if (!fs::is_regular_file(entry->symlink_status(none))) {
      ignore(name, "it is no regular file");
    } else {
      const auto text = read_host_file(join(folder, name));
      mps::Namespaces& namespaces = wanted.daemons[name];
      if (text) {
        namespaces = mps::read_wanted(*text);
        if (drop_excess(namespaces, pipe_folder(name))) {
          add_problem(join(folder, name) + ": only " + std::to_string(limits::max_mps_namespaces) +
                      " namespaces are allowed, and the containers of the others do not start");
        }
      } else {
        wanted.unreadable.insert(name);
        add_problem(text.error().message + "; the namespaces of the MPS daemon stay as they are");
      }
    }
  }
  if (error) {
    return base::fail(base::ErrorCode::kUnavailable,
                      folder + ": cannot be listed: " + error.message());
  }
  if (std::ssize(wanted.daemons) > limits::max_mps_daemons) {
    wanted.daemons.erase(std::next(wanted.daemons.begin(), limits::max_mps_daemons),
                         wanted.daemons.end());
    wanted.problems.push_back(folder + ": only " + std::to_string(limits::max_mps_daemons) +
                              " MPS daemons are allowed, and the others are not started");
  }
  return wanted;
}

std::set<std::string, std::less<>> DaemonFolders::known() {
  std::set<std::string, std::less<>> uuids;
  for (const std::string& folder : {places_.root, join(places_.root, mps::kStateFolder)}) {
    std::error_code error;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (mps::is_gpu_uuid(name)) uuids.insert(name);
    }
  }
  return uuids;
}

base::Result<void> DaemonFolders::write_state(std::string_view uuid,
                                              const mps::DaemonState& state) {
  const std::string folder = join(places_.root, mps::kStateFolder);
  return replace_file(join(folder, uuid), join(folder, "." + std::string(uuid) + ".tmp"),
                      mps::write_state(state));
}

void DaemonFolders::remove_state(std::string_view uuid) {
  ::unlink(join(join(places_.root, mps::kStateFolder), uuid).c_str());
}

base::Result<void> DaemonFolders::prepare_daemon(std::string_view uuid) {
  if (auto made = make_folder(join(places_.root, uuid), kReadable); !made) return made;
  if (auto made = make_folder(log_folder(uuid), kReadable); !made) return made;
  if (auto made = make_folder(pipe_folder(uuid), kForAnyUser); !made) return made;
  empty_folder(pipe_folder(uuid), kNamespaceLevels);
  return {};
}

void DaemonFolders::remove_pipes(std::string_view uuid, bool keeps_namespaces) {
  // The folder itself stays, and with it those of namespaces: containers have mounted them.
  empty_folder(pipe_folder(uuid), keeps_namespaces ? kNamespaceLevels : 0);
}

base::Result<std::string> DaemonFolders::write_configuration(std::string_view uuid,
                                                             std::string_view text) {
  std::string path = join(join(places_.root, uuid), "mps.toml");
  if (auto written = replace_file(path, path + ".tmp", text); !written)
    return std::unexpected(written.error());
  return path;
}

void DaemonFolders::trim_logs(std::string_view uuid) {
  std::error_code error;
  for (fs::directory_iterator entry(log_folder(uuid), error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const int file = ::open(entry->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    struct stat status{};
    if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size > limits::max_mps_log_bytes) {
      (void)!::ftruncate(file, 0);
    }
    ::close(file);
  }
}

base::Result<mps_service::Program> DaemonFolders::control_program() {
  const std::string& driver_root = places_.driver_root;
  std::string path = places_.control_program;
  for (const std::string_view folder : kControlFolders) {
    if (!path.empty()) break;
    path = follow_links(driver_root, join(folder, kControlName)).value_or("");
  }
  if (path.empty()) {
    return base::fail(base::ErrorCode::kUnavailable,
                      std::string(kControlName) + " is neither in /usr/bin nor in /bin below " +
                          base::in_quotes(driver_root) + ": is the GPU driver installed?");
  }
  mps_service::Program program{.arguments = {path}};
  const bool has_root = driver_root != "/";
  if (has_root) {
    program.root = driver_root;
    const std::string inside = join(driver_root, places_.root);
    std::error_code error;
    fs::create_directories(inside, error);  // if it fails, so does the start
    program.binds.emplace_back(places_.root, inside);
    program.binds.emplace_back("/proc", join(driver_root, "proc"));  // with its own /proc/self
  }
  if (has_root || places_.shared_memory_mib != 0)
    program.binds.emplace_back(shared_memory(), join(driver_root, "dev/shm"));
  return program;
}

std::string DaemonFolders::pipe_folder(std::string_view uuid) const {
  return join(join(places_.root, uuid), mps::kPipeFolder);
}

std::string DaemonFolders::log_folder(std::string_view uuid) const {
  return join(join(places_.root, uuid), mps::kLogFolder);
}

std::string DaemonFolders::shared_memory() const {
  return join(places_.root, mps::kSharedMemoryFolder);
}

}  // namespace snug::host
