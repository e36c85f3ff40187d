// Policy files: an error has its position, and an accepted policy can rate every placement.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "snug/base/limits.hpp"
#include "snug/codec/policy_codec.hpp"
#include "support/node_states.hpp"
#include "target.hpp"
#include "yaml_position.hpp"

namespace snug::fuzz {
namespace {

void rate(const score::Policy& policy, const score::ProfileChoice& choice,
          const model::NodeState& node, const model::GpuRequest& request) {
  model::Demand demand;
  for (const int level : {0, model::Demand::kFullChurn}) {
    demand.churn = level;
    demand.saturation = level == 0 ? 0 : model::Demand::kFullSaturation;
    for (const model::Placement& placement : fit_all(node, request).options) {
      const score::Profile& profile = choice.profile_for(node, placement);
      require(policy.profiles.contains(profile.name), "the profile is one of the policy");
      const std::int64_t sum = score::score(
          profile, {.node = node, .request = request, .placement = placement, .demand = demand});
      std::int64_t most = 0;
      for (const score::WeightedTerm& term : profile.terms) {
        most += std::abs(term.weight.at(demand)) * score::kTermBound;
      }
      require(std::abs(sum) <= most, "a score is within its bounds");
      require(std::abs(profile.score_class_of(sum, demand)) <= most, "so is its class");
    }
  }
}

void use(const score::Policy& policy) {
  static const model::NodeStatePtr kShared = make_state("n1: A100-80 81920 x2, T4 16384");
  static const model::NodeStatePtr kSliced =
      make_state("n2: NVIDIA-A100-SXM4-80GB 81920 mig | dynamic");
  require(policy.profiles.contains(policy.default_profile_name), "the default profile exists");
  require(!codec::summary_of(policy).empty(), "a policy has a summary");
  const std::map<std::string, std::string, std::less<>> labels{{"team", "a"}, {"app", "train"}};
  for (const std::string_view name_space : {"default", "ml", "team-a"}) {
    for (const std::string_view requested : {"", "tight", "spread"}) {
      const auto choice = policy.choose({name_space, labels, requested});
      if (!choice) {
        require(choice.error().code == model::ReasonCode::kForbiddenPolicy, "the refusal");
        continue;
      }
      rate(policy, *choice, *kShared, make_fraction(250));
      rate(policy, *choice, *kSliced, make_slice_request("1g.10gb"));
    }
    const model::SharingRule& rule = policy.sharing.rule_for(name_space);
    require(rule == policy.sharing.rule_for(name_space), "one rule for a namespace");
  }
}

}  // namespace

void take_input(std::string_view input) {
  const auto policy = codec::read_policy(input, "f", base::Limits{});
  if (!policy) return require_position(policy.error());
  use(*policy);
}

}  // namespace snug::fuzz
