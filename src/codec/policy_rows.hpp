// The lists of a policy file: `rules`, `podChoice` and `sharing`. All may be missing.
#pragma once

#include "codec/policy_yaml.hpp"
#include "snug/score/policy.hpp"

namespace snug {

/// Reads them from the file's root into `policy`, whose profiles are there already. A row that no
/// pod can reach is an error too: whoever wrote it expects it to count.
[[nodiscard]] Result<void> read_policy_rows(const YamlNode& root, const PolicyYaml& yaml,
                                            Policy& policy);

}  // namespace snug
