// The parts of a policy file's reader: the form of errors, maps and lists, and the readers of the
// lists `rules`, `podChoice` and `sharing`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"
#include "snug/base/result.hpp"
#include "snug/codec/yaml.hpp"
#include "snug/model/sharing_rules.hpp"
#include "snug/score/policy.hpp"

namespace snug::codec {

/// The words with commas between them.
[[nodiscard]] std::string join(std::span<const std::string_view> words);

/// Whether the text has only printable ASCII characters.
[[nodiscard]] bool is_printable(std::string_view text);

class PolicyYaml {
 public:
  /// Both outlive it; `source` names the text in messages.
  PolicyYaml(std::string_view source, const base::Limits& limits)
      : source_(source), limits_(limits) {}

  [[nodiscard]] std::unexpected<base::Error> error_at(const YamlNode& at,
                                                      const std::string& text) const;

  /// Checks that `map`, called `what` in messages, is a map without other keys than these.
  [[nodiscard]] base::Result<void> check_keys(const YamlNode& map, std::string_view what,
                                              std::span<const std::string_view> keys) const;
  /// Checks that `list`, the value of `key`, has 1 to maxPolicyRows entries.
  [[nodiscard]] base::Result<void> check_list(const YamlNode& list, std::string_view key,
                                              std::string_view entries) const;
  /// The entries of a list: texts, not empty and without duplicates.
  [[nodiscard]] base::Result<std::vector<std::string>> string_list(const YamlNode& list,
                                                                   std::string_view key,
                                                                   std::string_view entries) const;

  /// A list of patterns, each of which can match a namespace.
  [[nodiscard]] base::Result<std::vector<std::string>> namespaces(const YamlNode& list) const;
  /// The value of the map's key `namespaces`, in rows that grant or forbid something: it must not
  /// be left out.
  [[nodiscard]] base::Result<std::vector<std::string>> required_namespaces(
      const YamlNode& map) const;
  /// Whether one of the patterns consists of stars.
  [[nodiscard]] static bool matches_every_namespace(const std::vector<std::string>& patterns);
  /// The error for a row, called `what`, behind one that matches every pod.
  [[nodiscard]] std::unexpected<base::Error> unreachable_error(const YamlNode& item,
                                                               const YamlNode& takes_all,
                                                               std::string_view what) const;

  [[nodiscard]] const base::Limits& limits() const { return limits_; }

 private:
  std::string_view source_;
  const base::Limits& limits_;
};

/// Reads `rules`, `podChoice` and `sharing`, each of which may be missing, from the file's root
/// into `policy`, whose profiles are there already. A row that no pod can reach is an error too:
/// whoever wrote it expects it to count.
[[nodiscard]] base::Result<void> read_policy_rows(const YamlNode& root, const PolicyYaml& yaml,
                                                  score::Policy& policy);

/// The rows of `sharing`.
[[nodiscard]] base::Result<model::SharingRules> read_sharing(const YamlNode& list,
                                                             const PolicyYaml& yaml);

}  // namespace snug::codec
