// What the simulated operator lets namespaces share: as plain data for the naive model, and as the
// policy file that says the same to Snug.
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
/// Of the kind that each namespace is named for, most of the time.
[[nodiscard]] PlainPolicy random_policy(Random& random);

}  // namespace snug
