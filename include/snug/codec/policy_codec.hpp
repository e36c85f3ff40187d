// Reads policy files (YAML, version 1). Unknown keys, duplicate keys, aliases and values of a wrong
// type are errors of the form `FILE:LINE:COLUMN: what is wrong; what is expected`.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"

namespace snug::codec {

/// `source` is the name of the text in messages.
[[nodiscard]] base::Result<score::Policy> read_policy(std::string_view yaml,
                                                      std::string_view source,
                                                      const base::Limits& limits);

/// Returns a summary for the log, such as `default a, 2 profiles, 1 rule, …`.
[[nodiscard]] std::string summary_of(const score::Policy& policy);

/// Returns the policy that applies if no policy file is configured: the content of
/// policies/tight.yaml, which is embedded in the binary.
[[nodiscard]] std::string_view default_policy_yaml();

}  // namespace snug::codec
