#include "app/files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace snug {

Result<std::string> read_file(const std::string& path, std::int64_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return fail(ErrorCode::kInvalid, path + ": is a folder; expected a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(ErrorCode::kInvalid, path + ": cannot be read: " + std::strerror(errno));
  }
  std::string text;
  char block[65536];
  while (file.read(block, sizeof block) || file.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(file.gcount()));
    if (static_cast<std::int64_t>(text.size()) > most) {
      return fail(ErrorCode::kTooLarge, path + ": is larger than the " + std::to_string(most) +
                                            " bytes that are allowed");
    }
  }
  return text;
}

}  // namespace snug
