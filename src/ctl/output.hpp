// What a subcommand says on stdout.
#pragma once

#include <string>

#include "snug/base/result.hpp"

namespace snug {

/// An error: stdout does not take all of it.
[[nodiscard]] Result<void> print(const std::string& text);

}  // namespace snug
