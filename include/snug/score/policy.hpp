// A policy is data: profiles of weighted terms. It decides among placements that fit, never whether
// one fits. Immutable once read (codec/policy_codec); the same profile chooses the node and the
// GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snug/score/terms.hpp"

namespace snug {

inline constexpr std::int64_t kMaxWeight = 1'000'000;

struct WeightedTerm {
  const TermRow* term = nullptr;
  std::int64_t weight = 0;  // -kMaxWeight..kMaxWeight
};

struct Profile {
  std::string name;
  std::vector<WeightedTerm> terms;
};

struct Policy {
  std::string default_profile;  // a key of `profiles`
  std::map<std::string, Profile, std::less<>> profiles;

  [[nodiscard]] const Profile& default_terms() const {
    return profiles.find(default_profile)->second;
  }
};
using PolicyPtr = std::shared_ptr<const Policy>;

/// Σ weight × term. Cannot overflow within the bounds above.
[[nodiscard]] std::int64_t score(const Profile& profile, const TermInput& input);

}  // namespace snug
