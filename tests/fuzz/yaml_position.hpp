// What errors about YAML files must have.
#pragma once

#include <regex>
#include <string>

#include "snug/base/result.hpp"
#include "target.hpp"

namespace snug::fuzz {

/// An error in a file `f` begins with its line and column, unless the whole file is at fault.
inline void require_position(const base::Error& error) {
  static const std::regex kPosition(R"(f:[1-9]\d*:[1-9]\d*: [^]+)");
  require(error.code == base::ErrorCode::kTooLarge ||
              std::regex_search(error.message.substr(0, 60), kPosition,
                                std::regex_constants::match_continuous),
          "an error has a position: " + error.message);
}

}  // namespace snug::fuzz
