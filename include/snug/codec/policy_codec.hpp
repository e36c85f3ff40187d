// Reads policy files (YAML, version 1). Unknown keys, duplicates, aliases and wrong types are
// errors of the form `FILE:LINE:COLUMN: what is wrong; what is expected`.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"

namespace snug::codec {

/// `source` names the text in messages.
[[nodiscard]] base::Result<score::Policy> read_policy(std::string_view yaml,
                                                      std::string_view source,
                                                      const base::Limits& limits);

/// A summary for a log: `default a, 2 profiles, 1 rule, …`.
[[nodiscard]] std::string summary_of(const score::Policy& policy);

/// The policy that is used if no file is configured: policies/tight.yaml, embedded in the binary.
[[nodiscard]] std::string_view default_policy_yaml();

}  // namespace snug::codec
