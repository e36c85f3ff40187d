// The policies that `snugctl simulate` compares.
#pragma once

#include <string>
#include <vector>

#include "ctl/connection.hpp"
#include "snug/base/result.hpp"
#include "snug/score/policy.hpp"

namespace snug::ctl {

struct NamedPolicy {
  std::string name;  // unique among the simulated policies
  score::PolicyPtr policy;
};

/// Returns the policy in force of the snug-extender at `connection.server`, if it is given, and
/// then the policies of the files. Returns the built-in policy if both are missing.
[[nodiscard]] base::Result<std::vector<NamedPolicy>> read_simulated_policies(
    const std::vector<std::string>& paths, const ConnectionFlags& connection);

}  // namespace snug::ctl
