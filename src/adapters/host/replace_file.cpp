#include "adapters/host/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace snug::host {
namespace {

/// Writes all bytes to a new file, which everybody may read.
base::Result<void> write_new_file(const std::string& path, std::string_view text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return failed(path, "cannot be created");
  base::Result<void> result;
  if (::fchmod(file, 0644) != 0) result = failed(path, "cannot be made readable");
  while (result && !text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      result = failed(path, "cannot be written");
    }
  }
  if (::close(file) != 0 && result) result = failed(path, "cannot be written");
  return result;
}

}  // namespace

std::unexpected<base::Error> failed(const std::string& path, std::string_view what) {
  return base::fail(base::ErrorCode::kUnavailable,
                    path + ": " + std::string(what) + ": " + std::strerror(errno));
}

base::Result<void> replace_file(const std::string& path, const std::string& temporary,
                                std::string_view text) {
  ::unlink(temporary.c_str());  // left by a program that had the same process id and was killed
  base::Result<void> result = write_new_file(temporary, text);
  if (result && ::rename(temporary.c_str(), path.c_str()) != 0) {
    result = failed(path, "cannot be replaced");
  }
  if (!result) ::unlink(temporary.c_str());
  return result;
}

}  // namespace snug::host
