// The `sharing` rows of a policy file.
#pragma once

#include "codec/policy_yaml.hpp"
#include "snug/model/sharing.hpp"

namespace snug {

[[nodiscard]] Result<SharingRules> read_sharing(const YamlNode& list, const PolicyYaml& yaml);

}  // namespace snug
