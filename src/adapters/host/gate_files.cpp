#include "snug/adapters/host/gate_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "adapters/host/replace_file.hpp"

namespace snug::host {
namespace {

/// The lock belongs to the open file, not to the process, as those of F_SETLK would.
struct flock whole_file(short type) { return {.l_type = type, .l_whence = SEEK_SET}; }

/// With a slash at its end.
std::string folder_of(std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "./" : std::string(path.substr(0, slash + 1));
}

base::Result<void> make_if_absent(const std::string& folder, mode_t mode) {
  if (::mkdir(folder.c_str(), mode) == 0 || errno == EEXIST) return {};
  return failed(folder, "cannot be made");
}

base::Result<std::string> read_program(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed(path, "cannot be read");
  base::Result<std::string> bytes;
  std::array<char, 65'536> part;
  ssize_t count = 0;
  while ((count = ::read(file, part.data(), part.size())) > 0) {
    bytes->append(part.data(), static_cast<std::size_t>(count));
  }
  if (count < 0) bytes = failed(path, "cannot be read");
  ::close(file);
  return bytes;
}

}  // namespace

base::Result<void> hold_gate_lock(const std::string& path) {
  const std::string folder = folder_of(path);
  if (auto made = make_if_absent(folder, 0700); !made) return made;
  if (::chmod(folder.c_str(), 0700) != 0) return failed(folder, "its mode cannot be set");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed(path, "cannot be opened");
  // Shared, since a gate may start before the one of the previous runtime has ended.
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(file, F_OFD_SETLK, &lock) == 0) return {};  // the file stays open
  auto result = failed(path, "cannot be locked");
  ::close(file);
  return result;
}

bool is_gate_locked(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return false;
  struct flock lock = whole_file(F_WRLCK);
  const bool is_locked = ::fcntl(file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return is_locked;
}

base::Result<void> install_gate(const std::string& program, const std::string& folder) {
  const auto bytes = read_program(program);
  if (!bytes) return std::unexpected(bytes.error());
  if (auto made = make_if_absent(folder, 0755); !made) return made;
  const std::string copy = folder_of(folder) + ".snug-gate";
  const std::string installed = folder + "/" + kGateFile;
  if (auto copied = replace_file(copy, copy + ".tmp", *bytes); !copied) return copied;
  if (::chmod(copy.c_str(), 0755) != 0) return failed(copy, "cannot be made executable");
  if (::rename(copy.c_str(), installed.c_str()) != 0)
    return failed(installed, "cannot be replaced");
  return {};
}

}  // namespace snug::host
