#include "snug/config/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug::config {
namespace {

namespace fs = std::filesystem;

std::unexpected<base::Error> unwritable(const std::string& path, const char* cause) {
  return base::fail(base::ErrorCode::kUnavailable, path + ": cannot be written: " + cause);
}

/// The destination of a write. `temporary` is written first and then renamed to `file`. For a
/// device or pipe, both paths are the same, and nothing is renamed.
struct Target {
  fs::path file;
  fs::path temporary;
};

base::Result<Target> target_of(const std::string& path) {
  std::error_code error;
  fs::path file = path;
  const fs::file_status status = fs::status(file, error);
  if (fs::is_directory(status)) {
    return base::fail(base::ErrorCode::kUnavailable, path + ": is a folder; expected a file");
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) return Target{file, file};
  if (fs::is_symlink(file, error)) file = fs::weakly_canonical(file, error);
  return Target{file, file.string() + ".tmp" + std::to_string(::getpid())};
}

}  // namespace

base::Result<std::string> read_token_file(const std::string& path, const base::Limits& limits) {
  base::Result<std::string> token = read_file(path, limits.max_token_bytes);
  if (!token) return token;
  while (token->ends_with('\n') || token->ends_with('\r')) token->pop_back();
  const bool is_token =
      !token->empty() && std::ranges::all_of(*token, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_token) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + ": must contain one token: printable ASCII characters without blanks");
  }
  return token;
}

base::Result<void> write_file(const std::string& path, std::string_view text) {
  const base::Result<Target> target = target_of(path);
  if (!target) return std::unexpected(target.error());
  std::ofstream file(target->temporary, std::ios::binary | std::ios::trunc);
  if (!file) return unwritable(path, std::strerror(errno));
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  const int write_errno = errno;
  if (target->temporary == target->file) {
    if (!file) return unwritable(path, std::strerror(write_errno));
    return {};
  }
  std::error_code error;
  if (file) {
    fs::rename(target->temporary, target->file, error);
    if (!error) return {};
  }
  const std::string reason = file ? error.message() : std::strerror(write_errno);
  fs::remove(target->temporary, error);
  return unwritable(path, reason.c_str());
}

base::Result<void> check_writable(const std::string& path) {
  const base::Result<Target> target = target_of(path);
  if (!target) return std::unexpected(target.error());
  if (target->temporary == target->file) return {};
  std::ofstream file(target->temporary, std::ios::binary | std::ios::trunc);
  if (!file) return unwritable(path, std::strerror(errno));
  file.close();
  std::error_code error;
  fs::remove(target->temporary, error);
  return {};
}

base::Result<std::string> read_file(const std::string& path, std::int64_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return base::fail(base::ErrorCode::kInvalid, path + ": is a folder; expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return base::fail(base::ErrorCode::kInvalid,
                      path + ": cannot be read: " + std::strerror(errno));
  }
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (static_cast<std::int64_t>(text.size()) > most) {
      return base::fail(
          base::ErrorCode::kTooLarge,
          path + ": is larger than the " + std::to_string(most) + " bytes that are allowed");
    }
  }
  return text;
}

}  // namespace snug::config
