// Reads the reply of GET /v1/policy of the admin port: the policy in force.
#pragma once

#include <string>
#include <string_view>

#include "snug/base/result.hpp"

namespace snug::codec {

struct PolicyReply {
  std::string source;  // the file that the policy was read from, or `default`
  std::string yaml;
};

/// Fails on any other text.
[[nodiscard]] base::Result<PolicyReply> read_policy_reply(std::string_view json);

}  // namespace snug::codec
