// `snugctl policy check`: whether snug-extender would take a policy file.
#pragma once

#include <string>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"

namespace snug {

/// Those that the extender would have with this configuration file; the defaults where `config` is
/// empty. An error says where the file is wrong.
[[nodiscard]] Result<Limits> limits_of(const std::string& config);

/// One line about the file: `FILE: ok: …`. An error says where the file is wrong.
[[nodiscard]] Result<std::string> check_policy(const std::string& path, const Limits& limits);

}  // namespace snug
