#include "snug/score/policy.hpp"

namespace snug {

std::int64_t score(const Profile& profile, const TermInput& input) {
  std::int64_t sum = 0;
  for (const WeightedTerm& part : profile.terms) sum += part.weight * part.term->function(input);
  return sum;
}

}  // namespace snug
