// The policy of the simulated cluster: as plain data for the naive model, and as the same policy in
// YAML for Snug.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/model/sharing_rules.hpp"
#include "support/random.hpp"

namespace snug {

struct PlainPolicy {
  std::string profile = "best-fit";  // the term that counts
  std::map<std::string, model::SharingRule, std::less<>> rules;

  [[nodiscard]] model::SharingRule of(std::string_view name_space) const;
  [[nodiscard]] std::string yaml() const;
};

[[nodiscard]] const std::vector<std::string>& sim_namespaces();
/// Returns a random policy. Most of the time, each namespace has the rule that its name suggests.
[[nodiscard]] PlainPolicy random_policy(Random& random);

}  // namespace snug
