#include <array>
#include <utility>

#include "codec/policy_yaml.hpp"
#include "codec/shadowed_namespaces.hpp"

namespace snug::codec {
namespace {

using Texts = std::vector<std::string>;

class RuleListsReader {
 public:
  RuleListsReader(const PolicyYaml& yaml, const score::Policy& policy)
      : yaml_(yaml), policy_(policy) {}

  base::Result<std::vector<score::ProfileRule>> rules(const YamlNode& list) const {
    if (auto checked = yaml_.check_list(list, "rules", "rules"); !checked) {
      return std::unexpected(checked.error());
    }
    std::vector<score::ProfileRule> rules;
    ShadowedNamespaces earlier_namespaces(yaml_, "rule");
    const YamlNode* catch_all_rule = nullptr;
    for (const YamlNode& rule_node : list.items) {
      if (catch_all_rule != nullptr)
        return yaml_.unreachable_error(rule_node, *catch_all_rule, "rule");
      auto rule = read_rule(rule_node);
      if (!rule) return std::unexpected(rule.error());
      const bool every_namespace =
          rule->namespaces.empty() || PolicyYaml::matches_every_namespace(rule->namespaces);
      if (auto checked = earlier_namespaces.check_row(rule_node); !checked)
        return std::unexpected(checked.error());
      if (rule->pod_labels.empty() && rule->gpu_models.empty()) {
        earlier_namespaces.add_row(rule_node);
        if (every_namespace) catch_all_rule = &rule_node;
      }
      rules.push_back(*std::move(rule));
    }
    return rules;
  }

  base::Result<std::vector<score::PodChoice>> pod_choice(const YamlNode& list) const {
    if (auto checked = yaml_.check_list(list, "podChoice", "rows"); !checked) {
      return std::unexpected(checked.error());
    }
    std::vector<score::PodChoice> rows;
    for (const YamlNode& choice_node : list.items) {
      auto row = read_choice(choice_node);
      if (!row) return std::unexpected(row.error());
      rows.push_back(*std::move(row));
    }
    return rows;
  }

 private:
  base::Result<score::ProfileRule> read_rule(const YamlNode& rule_node) const {
    constexpr std::array<std::string_view, 4> kKeys{"namespaces", "podLabels", "gpuModels",
                                                    "profile"};
    if (auto checked = yaml_.check_keys(rule_node, "a rule", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    score::ProfileRule rule;
    if (const YamlNode* list = rule_node.find("namespaces"); list != nullptr) {
      auto patterns = yaml_.namespaces(*list);
      if (!patterns) return std::unexpected(patterns.error());
      rule.namespaces = *std::move(patterns);
    }
    if (const YamlNode* map = rule_node.find("podLabels"); map != nullptr) {
      auto labels = pod_labels(*map);
      if (!labels) return std::unexpected(labels.error());
      rule.pod_labels = *std::move(labels);
    }
    if (const YamlNode* list = rule_node.find("gpuModels"); list != nullptr) {
      auto patterns = gpu_models(*list);
      if (!patterns) return std::unexpected(patterns.error());
      rule.gpu_models = *std::move(patterns);
    }
    const YamlNode* profile = rule_node.find("profile");
    if (profile == nullptr) {
      return yaml_.error_at(rule_node, "the key profile is missing; it" + profile_rule_text());
    }
    if (!is_profile(*profile)) return yaml_.error_at(*profile, "profile" + profile_rule_text());
    rule.profile = profile->text;
    return rule;
  }

  base::Result<score::PodChoice> read_choice(const YamlNode& choice_node) const {
    constexpr std::array<std::string_view, 2> kKeys{"namespaces", "profiles"};
    if (auto checked = yaml_.check_keys(choice_node, "a row of podChoice", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    auto patterns = yaml_.required_namespaces(choice_node);
    if (!patterns) return std::unexpected(patterns.error());
    const YamlNode* list = choice_node.find("profiles");
    if (list == nullptr) {
      return yaml_.error_at(choice_node,
                            "the key profiles is missing; it must be a list of profiles' names");
    }
    auto profiles = yaml_.string_list(*list, "profiles", "profiles' names");
    if (!profiles) return std::unexpected(profiles.error());
    for (const YamlNode& item : list->items) {
      if (!is_profile(item))
        return yaml_.error_at(item, "each entry of profiles" + profile_rule_text());
    }
    return score::PodChoice{*std::move(patterns), *std::move(profiles)};
  }

  base::Result<Texts> gpu_models(const YamlNode& list) const {
    auto patterns = yaml_.string_list(list, "gpuModels", "GPU models' names or patterns");
    if (!patterns) return patterns;
    for (const YamlNode& pattern_node : list.items) {
      if (!pattern_node.text.starts_with('!')) continue;
      return yaml_.error_at(pattern_node,
                            "a pattern of gpuModels cannot exclude with !; put a rule for "
                            "that model before this one");
    }
    return patterns;
  }

  base::Result<std::map<std::string, std::string>> pod_labels(const YamlNode& map) const {
    const auto most = static_cast<std::size_t>(yaml_.limits().max_policy_rows);
    if (map.type != YamlNode::Type::kMap || map.entries.empty() || map.entries.size() > most) {
      return yaml_.error_at(map, "podLabels must be a map of 1 to " + std::to_string(most) +
                                     " labels to their values (limit maxPolicyRows)");
    }
    std::map<std::string, std::string> labels;
    for (const auto& [key, value] : map.entries) {
      if (key.text.empty()) return yaml_.error_at(key, "a label's name must not be empty");
      if (value.type != YamlNode::Type::kScalar) {
        return yaml_.error_at(value, "a label's value must be a text; \"\" is the empty text");
      }
      labels.emplace(key.text, value.text);
    }
    return labels;
  }

  bool is_profile(const YamlNode& profile_node) const {
    return profile_node.type == YamlNode::Type::kScalar &&
           policy_.profiles.contains(profile_node.text);
  }

  std::string profile_rule_text() const {
    std::vector<std::string_view> names;
    names.reserve(policy_.profiles.size());
    for (const auto& [name, profile] : policy_.profiles) names.push_back(name);
    return " must name one of the profiles: " + join(names);
  }

  const PolicyYaml& yaml_;
  const score::Policy& policy_;
};

}  // namespace

base::Result<void> read_policy_rows(const YamlNode& root, const PolicyYaml& yaml,
                                    score::Policy& policy) {
  const RuleListsReader reader(yaml, policy);
  if (const YamlNode* list = root.find("rules"); list != nullptr) {
    auto rules = reader.rules(*list);
    if (!rules) return std::unexpected(rules.error());
    policy.rules = *std::move(rules);
  }
  if (const YamlNode* list = root.find("podChoice"); list != nullptr) {
    auto rows = reader.pod_choice(*list);
    if (!rows) return std::unexpected(rows.error());
    policy.pod_choice = *std::move(rows);
  }
  if (const YamlNode* list = root.find("sharing"); list != nullptr) {
    auto sharing = read_sharing(*list, yaml);
    if (!sharing) return std::unexpected(sharing.error());
    policy.sharing = *std::move(sharing);
  }
  return {};
}

}  // namespace snug::codec
