#include "snug/codec/policy_codec.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "codec/text.hpp"
#include "default_policy.hpp"
#include "snug/codec/yaml.hpp"

namespace snug {
namespace {

std::string join(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

std::string term_names() {
  std::vector<std::string_view> names;
  for (const TermRow& row : all_terms()) names.push_back(row.name);
  return join(names);
}

class PolicyReader {
 public:
  PolicyReader(std::string_view source, const Limits& limits) : source_(source), limits_(limits) {}

  Result<Policy> read(const YamlNode& root) const {
    constexpr std::array<std::string_view, 3> kKeys{"version", "default", "profiles"};
    if (auto checked = check_keys(root, "a policy file", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* version = root.find("version");
    if (version == nullptr) return problem(root, "the key version is missing; it must be 1");
    if (version->kind != YamlNode::Kind::kScalar || version->quoted || version->text != "1") {
      return problem(*version, "version must be 1");
    }
    Policy policy;
    if (auto read = read_profiles(root, policy); !read) return std::unexpected(read.error());
    if (auto read = read_default(root, policy); !read) return std::unexpected(read.error());
    return policy;
  }

 private:
  std::unexpected<Error> problem(const YamlNode& at, const std::string& text) const {
    return std::unexpected(yaml_error(source_, at, text));
  }

  Result<void> check_keys(const YamlNode& map, std::string_view what,
                          std::span<const std::string_view> keys) const {
    if (map.kind != YamlNode::Kind::kMap) {
      return problem(map, std::string(what) + " must be a map with the keys " + join(keys));
    }
    constexpr std::array<std::string_view, 3> kLater{"rules", "podChoice", "sharing"};
    for (const auto& [key, value] : map.entries) {
      if (std::ranges::find(keys, key.text) != keys.end()) continue;
      if (std::ranges::find(kLater, key.text) != kLater.end()) {
        return problem(key, key.text + " is not available in this version of Snug; remove it");
      }
      return problem(key, "unknown key " + in_quotes(key.text) + "; " + std::string(what) +
                              " has the keys " + join(keys));
    }
    return {};
  }

  Result<void> read_profiles(const YamlNode& root, Policy& policy) const {
    const YamlNode* profiles = root.find("profiles");
    if (profiles == nullptr) return problem(root, "the key profiles is missing");
    if (profiles->kind != YamlNode::Kind::kMap || profiles->entries.empty()) {
      return problem(*profiles, "profiles must be a map of at least one name to its terms");
    }
    for (const auto& [key, value] : profiles->entries) {
      if (key.text.empty()) return problem(key, "a profile's name must not be empty");
      auto profile = read_profile(key.text, value);
      if (!profile) return std::unexpected(profile.error());
      policy.profiles.emplace(key.text, *std::move(profile));
    }
    return {};
  }

  Result<Profile> read_profile(const std::string& name, const YamlNode& node) const {
    constexpr std::array<std::string_view, 1> kKeys{"terms"};
    if (auto checked = check_keys(node, "a profile", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* terms = node.find("terms");
    const auto most = static_cast<std::size_t>(limits_.max_policy_terms);
    if (terms == nullptr || terms->kind != YamlNode::Kind::kSequence || terms->items.empty() ||
        terms->items.size() > most) {
      return problem(terms == nullptr ? node : *terms, "terms must be a list of 1 to " +
                                                           std::to_string(most) + " terms, each " +
                                                           "{term: NAME, weight: INTEGER}");
    }
    Profile profile{name, {}};
    for (const YamlNode& item : terms->items) {
      auto term = read_term(item);
      if (!term) return std::unexpected(term.error());
      const bool twice =
          std::ranges::any_of(profile.terms, [&](const auto& t) { return t.term == term->term; });
      if (twice) {
        return problem(
            item, "the term " + std::string(term->term->name) + " stands in this profile twice");
      }
      profile.terms.push_back(*term);
    }
    return profile;
  }

  Result<WeightedTerm> read_term(const YamlNode& node) const {
    constexpr std::array<std::string_view, 2> kKeys{"term", "weight"};
    if (auto checked = check_keys(node, "a term", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* name = node.find("term");
    const TermRow* row =
        name == nullptr || name->kind != YamlNode::Kind::kScalar ? nullptr : find_term(name->text);
    if (row == nullptr) {
      const bool named = name != nullptr && name->kind == YamlNode::Kind::kScalar;
      return problem(
          name == nullptr ? node : *name,
          (named ? "unknown term " + in_quotes(name->text) : std::string("no term named")) +
              "; the terms are " + term_names());
    }
    const YamlNode* weight = node.find("weight");
    const bool plain =
        weight != nullptr && weight->kind == YamlNode::Kind::kScalar && !weight->quoted;
    const auto value = plain ? parse_integer(weight->text) : std::nullopt;
    if (!value || *value < -kMaxWeight || *value > kMaxWeight) {
      return problem(weight == nullptr ? node : *weight, "weight must be an integer from -" +
                                                             std::to_string(kMaxWeight) + " to " +
                                                             std::to_string(kMaxWeight));
    }
    return WeightedTerm{row, *value};
  }

  Result<void> read_default(const YamlNode& root, Policy& policy) const {
    std::vector<std::string_view> names;
    names.reserve(policy.profiles.size());
    for (const auto& [name, profile] : policy.profiles) names.push_back(name);
    const YamlNode* name = root.find("default");
    if (name == nullptr || name->kind != YamlNode::Kind::kScalar ||
        !policy.profiles.contains(name->text)) {
      return problem(name == nullptr ? root : *name,
                     "default must name one of the profiles: " + join(names));
    }
    policy.default_profile = name->text;
    return {};
  }

  std::string_view source_;
  const Limits& limits_;
};

}  // namespace

Result<Policy> read_policy(std::string_view yaml, std::string_view source, const Limits& limits) {
  const auto root = parse_yaml(yaml, source, limits);
  if (!root) return std::unexpected(root.error());
  return PolicyReader(source, limits).read(*root);
}

std::string_view default_policy_yaml() { return kDefaultPolicyYaml; }

}  // namespace snug
