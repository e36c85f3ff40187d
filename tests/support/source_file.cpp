#include "support/source_file.hpp"

namespace snug {

std::string source_file(std::string_view path) {
  return std::string(SNUG_SOURCE_DIR "/") + std::string(path);
}

}  // namespace snug
