#include "sim/harness/plain_policy.hpp"

namespace snug {

PlainRule PlainPolicy::of(std::string_view name_space) const {
  const auto found = rules.find(name_space);
  return found == rules.end() ? PlainRule{} : found->second;
}

bool PlainPolicy::keeps_apart(std::string_view a, std::string_view b) const {
  return a != b && (of(a).apart || of(b).apart);
}

std::string PlainPolicy::yaml() const {
  std::string text = "version: 1\ndefault: only\nprofiles:\n  only: {terms: [{term: " + profile +
                     ", weight: 1000}]}\n";
  if (!rules.empty()) text += "sharing:\n";
  for (const auto& [name, rule] : rules) {
    text += "- {namespaces: [" + name + "], neighbours: " + (rule.apart ? "namespace" : "any");
    if (rule.cap >= 0) text += ", capMilli: " + std::to_string(rule.cap);
    if (rule.enforced) text += ", requireEnforcement: true";
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
  policy.rules["capped"].cap = random.pick(kCaps);
  policy.rules["apart"].apart = random.chance(85);
  if (random.chance(20)) policy.rules["capped"].apart = true;
  if (random.chance(20)) policy.rules["other"].cap = random.pick(kCaps);
  if (random.chance(20)) policy.rules["other"].enforced = true;
  return policy;
}

}  // namespace snug
