// The configuration file (YAML, version 1) → Options. Strict, as policies are.
#pragma once

#include <string_view>

#include "app/options.hpp"

namespace snug {

/// `source` names the text in messages; what the text does not set stays as it is.
[[nodiscard]] Result<void> read_config(std::string_view yaml, std::string_view source,
                                       Options& options);

}  // namespace snug
