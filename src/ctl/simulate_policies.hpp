// The policies that `snugctl simulate` compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"

namespace snug::ctl {

struct NamedPolicy {
  std::string name;  // unique among the simulated policies
  score::PolicyPtr policy;
};

/// Returns the policy in force of the snug-extender whose admin port is at `server`, if it is
/// given, and then the policies of the files. Returns the built-in policy if both are missing.
[[nodiscard]] base::Result<std::vector<NamedPolicy>> read_simulated_policies(
    const std::vector<std::string>& paths, const std::optional<std::string>& server);

}  // namespace snug::ctl
