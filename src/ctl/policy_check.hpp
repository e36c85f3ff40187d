// `snugctl policy check`: whether snug-extender would take a policy file.
#pragma once

#include <string>

#include "snug/base/result.hpp"

namespace snug {

/// One line about the file: `FILE: ok: …`. An error says where the file is wrong. Within the
/// default limits.
[[nodiscard]] Result<std::string> check_policy(const std::string& path);

}  // namespace snug
