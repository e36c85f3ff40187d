#include "snug/codec/policy_codec.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "codec/policy_yaml.hpp"
#include "default_policy.hpp"
#include "snug/base/text.hpp"
#include "snug/codec/yaml.hpp"

namespace snug::codec {
namespace {

constexpr std::size_t kMaxProfileName = 63;  // the longest value of a pod's gpu-policy

std::string term_names() {
  std::vector<std::string_view> names;
  for (const score::TermRow& row : score::all_terms()) names.push_back(row.name);
  return join(names);
}

/// Returns the end of a message about an invalid number: `, without quotes` if the value is in
/// quotes, because YAML then reads it as a string. Otherwise returns an empty text.
std::string unquoted_hint(const YamlNode& value) { return value.quoted ? ", without quotes" : ""; }

class PolicyReader {
 public:
  explicit PolicyReader(const PolicyYaml& yaml) : yaml_(yaml) {}

  base::Result<score::Policy> read(const YamlNode& root) const {
    constexpr std::array<std::string_view, 6> kKeys{"version", "default",   "profiles",
                                                    "rules",   "podChoice", "sharing"};
    if (auto checked = yaml_.check_keys(root, "a policy file", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* version = root.find("version");
    if (version == nullptr) return yaml_.error_at(root, "the key version is missing; it must be 1");
    if (version->type != YamlNode::Type::kScalar || version->quoted || version->text != "1") {
      return yaml_.error_at(*version, "version must be 1" + unquoted_hint(*version));
    }
    score::Policy policy;
    if (auto profiles_read = read_profiles(root, policy); !profiles_read)
      return std::unexpected(profiles_read.error());
    if (auto default_read = read_default(root, policy); !default_read)
      return std::unexpected(default_read.error());
    if (auto rows_read = read_policy_rows(root, yaml_, policy); !rows_read) {
      return std::unexpected(rows_read.error());
    }
    return policy;
  }

 private:
  base::Result<void> read_profiles(const YamlNode& root, score::Policy& policy) const {
    const YamlNode* profiles = root.find("profiles");
    if (profiles == nullptr) return yaml_.error_at(root, "the key profiles is missing");
    if (profiles->type != YamlNode::Type::kMap || profiles->entries.empty()) {
      return yaml_.error_at(*profiles, "profiles must be a map of at least one name to its terms");
    }
    for (const auto& [key, value] : profiles->entries) {
      if (key.text.empty() || key.text.size() > kMaxProfileName || !is_printable(key.text)) {
        return yaml_.error_at(key, "a profile's name must have 1 to " +
                                       std::to_string(kMaxProfileName) +
                                       " printable ASCII characters");
      }
      auto profile = read_profile(key.text, value);
      if (!profile) return std::unexpected(profile.error());
      policy.profiles.emplace(key.text, *std::move(profile));
    }
    return {};
  }

  base::Result<score::Profile> read_profile(const std::string& name,
                                            const YamlNode& profile_node) const {
    constexpr std::array<std::string_view, 3> kKeys{"terms", "quantum", "churnQuantum"};
    if (auto checked = yaml_.check_keys(profile_node, "a profile", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* terms = profile_node.find("terms");
    const auto most = static_cast<std::size_t>(yaml_.limits().max_policy_terms);
    if (terms == nullptr || terms->type != YamlNode::Type::kSequence || terms->items.empty() ||
        terms->items.size() > most) {
      return yaml_.error_at(terms == nullptr ? profile_node : *terms,
                            "terms must be a list of 1 to " + std::to_string(most) +
                                " terms, each " + "{term: NAME, weight: INTEGER}");
    }
    score::Profile profile{.name = name};
    auto quantum =
        read_by_regime(profile_node, {"quantum", "churnQuantum", ""}, {1, score::kMaxQuantum}, 1);
    if (!quantum) return std::unexpected(quantum.error());
    profile.quantum = *quantum;
    for (const YamlNode& item : terms->items) {
      auto term = read_term(item);
      if (!term) return std::unexpected(term.error());
      const bool is_repeated =
          std::ranges::any_of(profile.terms, [&](const auto& t) { return t.term == term->term; });
      if (is_repeated) {
        return yaml_.error_at(
            item, "the term " + std::string(term->term->name) + " is in this profile twice");
      }
      profile.terms.push_back(*term);
    }
    return profile;
  }

  base::Result<score::WeightedTerm> read_term(const YamlNode& term_node) const {
    constexpr std::array<std::string_view, 4> kKeys{"term", "weight", "churnWeight",
                                                    "saturatedWeight"};
    if (auto checked = yaml_.check_keys(term_node, "a term", kKeys); !checked) {
      return std::unexpected(checked.error());
    }
    const YamlNode* name = term_node.find("term");
    const score::TermRow* row = name == nullptr || name->type != YamlNode::Type::kScalar
                                    ? nullptr
                                    : score::find_term(name->text);
    if (row == nullptr) {
      const bool named = name != nullptr && name->type == YamlNode::Type::kScalar;
      return yaml_.error_at(name == nullptr ? term_node : *name,
                            (named ? "unknown term " + base::in_quotes(name->text)
                                   : std::string("the name of the term is missing")) +
                                "; the terms are " + term_names());
    }
    auto weight = read_by_regime(term_node, {"weight", "churnWeight", "saturatedWeight"},
                                 {-score::kMaxWeight, score::kMaxWeight}, {});
    if (!weight) return std::unexpected(weight.error());
    return score::WeightedTerm{row, *weight};
  }

  struct Range {
    std::int64_t smallest;
    std::int64_t largest;
  };

  /// The keys of a number that a profile or term has for each regime. A regime whose text is empty
  /// has no key.
  struct RegimeKeys {
    std::string_view filling;
    std::string_view churning;
    std::string_view saturated;
  };

  /// Reads a number for each regime. If the key of a regime is absent, the regime has the number of
  /// the regime before it in RegimeKeys. If the key of `filling` is absent, its number is
  /// `missing`. If `missing` is nullopt, the key of `filling` is required.
  base::Result<score::ByRegime> read_by_regime(const YamlNode& profile_or_term,
                                               const RegimeKeys& keys, const Range& range,
                                               std::optional<std::int64_t> missing) const {
    if (profile_or_term.find(keys.filling) == nullptr && !missing) {
      return yaml_.error_at(profile_or_term, "the key " + std::string(keys.filling) +
                                                 " is missing; it must be " + an_integer(range));
    }
    std::array<std::int64_t, 3> numbers{missing.value_or(0)};
    const std::array names{keys.filling, keys.churning, keys.saturated};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i > 0) numbers[i] = numbers[i - 1];
      const YamlNode* number_node = names[i].empty() ? nullptr : profile_or_term.find(names[i]);
      if (number_node == nullptr) continue;
      const auto number = read_integer(*number_node, names[i], range);
      if (!number) return std::unexpected(number.error());
      numbers[i] = *number;
    }
    return score::ByRegime(
        {.filling = numbers[0], .churning = numbers[1], .saturated = numbers[2]});
  }

  static std::string an_integer(const Range& range) {
    return "an integer from " + std::to_string(range.smallest) + " to " +
           std::to_string(range.largest);
  }

  base::Result<std::int64_t> read_integer(const YamlNode& number_node, std::string_view key,
                                          const Range& range) const {
    const bool plain = number_node.type == YamlNode::Type::kScalar && !number_node.quoted;
    const auto value = plain ? base::parse_integer(number_node.text) : std::nullopt;
    if (value && *value >= range.smallest && *value <= range.largest) return *value;
    return yaml_.error_at(number_node, std::string(key) + " must be " + an_integer(range) +
                                           unquoted_hint(number_node));
  }

  base::Result<void> read_default(const YamlNode& root, score::Policy& policy) const {
    std::vector<std::string_view> names;
    names.reserve(policy.profiles.size());
    for (const auto& [name, profile] : policy.profiles) names.push_back(name);
    const YamlNode* name = root.find("default");
    if (name == nullptr || name->type != YamlNode::Type::kScalar ||
        !policy.profiles.contains(name->text)) {
      return yaml_.error_at(name == nullptr ? root : *name,
                            "default must name one of the profiles: " + join(names));
    }
    policy.default_profile_name = name->text;
    return {};
  }

  const PolicyYaml& yaml_;
};

}  // namespace

base::Result<score::Policy> read_policy(std::string_view yaml, std::string_view source,
                                        const base::Limits& limits) {
  const auto root = parse_yaml(yaml, source, limits);
  if (!root) return std::unexpected(root.error());
  return PolicyReader(PolicyYaml(source, limits)).read(*root);
}

std::string summary_of(const score::Policy& policy) {
  const auto count = [](std::size_t number, const std::string& one, const std::string& more) {
    return ", " + std::to_string(number) + " " + (number == 1 ? one : more);
  };
  return "default " + policy.default_profile_name +
         count(policy.profiles.size(), "profile", "profiles") +
         count(policy.rules.size(), "rule", "rules") +
         count(policy.pod_choice.size(), "row of podChoice", "rows of podChoice") +
         count(policy.sharing.rows().size(), "row of sharing", "rows of sharing");
}

std::string_view default_policy_yaml() { return kDefaultPolicyYaml; }

}  // namespace snug::codec
