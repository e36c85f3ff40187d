#include "sim/harness/plain_policy.hpp"

namespace snug {

model::SharingRule PlainPolicy::of(std::string_view name_space) const {
  const auto found = rules.find(name_space);
  return found == rules.end() ? model::SharingRule{} : found->second;
}

std::string PlainPolicy::yaml() const {
  std::string text = "version: 1\ndefault: only\nprofiles:\n  only: {terms: [{term: " + profile +
                     ", weight: 1000}]}\n";
  if (!rules.empty()) text += "sharing:\n";
  for (const auto& [name, rule] : rules) {
    text += "- {namespaces: [" + name +
            "], neighbours: " + (rule.own_namespace_only ? "namespace" : "any");
    if (rule.cap) text += ", capMilli: " + std::to_string(rule.cap->value);
    if (rule.require_enforcement) text += ", requireEnforcement: true";
    text += "}\n";
  }
  return text;
}

const std::vector<std::string>& sim_namespaces() {
  static const std::vector<std::string> kNames{"free", "free", "other", "capped", "apart"};
  return kNames;
}

PlainPolicy random_policy(Random& random) {
  static const std::vector<std::int64_t> kCaps{500, 1'200, 2'000, 3'500};
  PlainPolicy policy;
  if (random.chance(30)) policy.profile = "spread";
  if (random.chance(15)) return policy;
  policy.rules["capped"].cap = base::MilliGpu{random.pick(kCaps)};
  policy.rules["apart"].own_namespace_only = random.chance(85);
  if (random.chance(20)) policy.rules["capped"].own_namespace_only = true;
  if (random.chance(20)) policy.rules["other"].cap = base::MilliGpu{random.pick(kCaps)};
  if (random.chance(20)) policy.rules["other"].require_enforcement = true;
  return policy;
}

}  // namespace snug
