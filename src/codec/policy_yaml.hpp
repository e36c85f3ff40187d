// The parts of read_policy(): checks of maps and lists with errors that have positions, and the
// readers of the lists `rules`, `podChoice` and `sharing` of a policy file.
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

/// Joins the words with `, `.
[[nodiscard]] std::string join(std::span<const std::string_view> words);

/// Whether the text has only printable ASCII characters.
[[nodiscard]] bool is_printable(std::string_view text);

class PolicyYaml {
 public:
  /// `source` is the name of the file in messages. Both arguments must outlive this object.
  PolicyYaml(std::string_view source, const base::Limits& limits)
      : source_(source), limits_(limits) {}

  /// Returns the error `text` with the position of the node `at`.
  [[nodiscard]] std::unexpected<base::Error> error_at(const YamlNode& at,
                                                      const std::string& text) const;

  /// Fails if `map` is not a map or has a key that is not one of `keys`. `map_name` is the name of
  /// the map in messages.
  [[nodiscard]] base::Result<void> check_keys(const YamlNode& map, std::string_view map_name,
                                              std::span<const std::string_view> keys) const;
  /// Fails if `list`, the value of `key`, is not a list of 1 to maxPolicyRows entries. `entries` is
  /// the name of the entries in messages.
  [[nodiscard]] base::Result<void> check_list(const YamlNode& list, std::string_view key,
                                              std::string_view entries) const;
  /// Returns the entries of a list of strings. An entry that is empty, is not printable ASCII or is
  /// a duplicate is an error.
  [[nodiscard]] base::Result<std::vector<std::string>> string_list(const YamlNode& list,
                                                                   std::string_view key,
                                                                   std::string_view entries) const;

  /// Returns the entries of a list of namespace patterns. A pattern that cannot match any namespace
  /// is an error.
  [[nodiscard]] base::Result<std::vector<std::string>> namespaces(const YamlNode& list) const;
  /// Returns the entries of the key `namespaces` of `map`. Fails if the key is missing, because a
  /// row that grants or forbids something must name its namespaces.
  [[nodiscard]] base::Result<std::vector<std::string>> required_namespaces(
      const YamlNode& map) const;
  /// Whether one of the patterns consists only of stars.
  [[nodiscard]] static bool matches_every_namespace(const std::vector<std::string>& patterns);
  /// Returns the error for the row `item`, which has no effect because it comes after
  /// `catch_all_row`, a row that matches every pod. `row_name` is the word for a row in messages.
  [[nodiscard]] std::unexpected<base::Error> unreachable_error(const YamlNode& item,
                                                               const YamlNode& catch_all_row,
                                                               std::string_view row_name) const;

  [[nodiscard]] const base::Limits& limits() const { return limits_; }

 private:
  std::string_view source_;
  const base::Limits& limits_;
};

/// Reads the keys `rules`, `podChoice` and `sharing` of the file's root into `policy`. Each may be
/// absent. policy.profiles must have been read before. A row that cannot apply to any pod is an
/// error, because its author expects it to have an effect.
[[nodiscard]] base::Result<void> read_policy_rows(const YamlNode& root, const PolicyYaml& yaml,
                                                  score::Policy& policy);

/// Reads the list `sharing`.
[[nodiscard]] base::Result<model::SharingRules> read_sharing(const YamlNode& list,
                                                             const PolicyYaml& yaml);

}  // namespace snug::codec
