// Finds entries of `namespaces` in the rows of a policy file that have no effect because an earlier
// row matches the same namespaces. The first row that matches a pod applies to it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/policy_yaml.hpp"

namespace snug::codec {

/// Has the namespace patterns of the earlier rows. Call check_row() for each row, and then
/// add_row() if the row applies to all pods of its namespaces.
class ShadowedNamespaces {
 public:
  /// `what` is the word for a row in messages. Both arguments must outlive this object.
  ShadowedNamespaces(const PolicyYaml& yaml, std::string_view what)
      : yaml_(yaml), row_name_(what) {}

  /// Fails if an earlier row has the same entry of `namespaces` as `row`, or a pattern that covers
  /// it.
  [[nodiscard]] base::Result<void> check_row(const YamlNode& row) const;
  /// Adds the patterns in `namespaces` of `row`. No later row applies to the pods that they match.
  void add_row(const YamlNode& row);

 private:
  using ShadowingRow = std::pair<std::string_view, std::size_t>;  // a pattern, and its row's line

  /// Returns an earlier row with a pattern that covers `pattern`; null if there is none.
  [[nodiscard]] const ShadowingRow* shadowing_row_of(std::string_view pattern) const;

  const PolicyYaml& yaml_;
  std::string_view row_name_;
  std::unordered_map<std::string_view, ShadowingRow> by_pattern_;
  std::vector<ShadowingRow> wildcards_;
};

}  // namespace snug::codec
