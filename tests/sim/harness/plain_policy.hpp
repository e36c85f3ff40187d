// What the simulated operator lets namespaces share: as plain data for the naive model, and as the
// policy file that says the same to Snug.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/random.hpp"

namespace snug {

struct PlainRule {
  bool apart = false;     // from every other namespace
  std::int64_t cap = -1;  // thousandths of a GPU, in the whole cluster; -1: none
  bool enforced = false;  // shares only on nodes that enforce them
};

struct PlainPolicy {
  std::string profile = "best-fit";  // the term that counts
  std::map<std::string, PlainRule, std::less<>> rules;

  [[nodiscard]] PlainRule of(std::string_view name_space) const;
  [[nodiscard]] bool keeps_apart(std::string_view a, std::string_view b) const;
  [[nodiscard]] std::string yaml() const;
};

[[nodiscard]] const std::vector<std::string>& sim_namespaces();
/// Of the kind that each namespace is named for, most of the time.
[[nodiscard]] PlainPolicy random_policy(Random& random);

}  // namespace snug
