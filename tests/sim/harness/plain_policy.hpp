// The policy of the simulated cluster: as plain data for the naive model, and as the same policy in
// YAML for Snug.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/harness/random.hpp"

namespace snug {

struct PlainRule {
  bool apart = false;     // shares no GPU with another namespace
  std::int64_t cap = -1;  // milli-GPU in the whole cluster; -1: no cap
  bool enforced = false;  // gets shares only on nodes that enforce them
};

struct PlainPolicy {
  std::string profile = "best-fit";  // its only score term
  std::map<std::string, PlainRule, std::less<>> rules;

  [[nodiscard]] PlainRule of(std::string_view name_space) const;
  [[nodiscard]] bool keeps_apart(std::string_view a, std::string_view b) const;
  [[nodiscard]] std::string yaml() const;
};

[[nodiscard]] const std::vector<std::string>& sim_namespaces();
/// Returns a random policy. Most of the time, each namespace has the rule that its name suggests.
[[nodiscard]] PlainPolicy random_policy(Random& random);

}  // namespace snug
