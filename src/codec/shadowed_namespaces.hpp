// Finds namespaces of a list's rows that can never count: the first row that matches a pod counts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/policy_yaml.hpp"

namespace snug::codec {

/// The patterns of a list's rows so far. Call both functions with each row that has been read.
class ShadowedNamespaces {
 public:
  /// `what` is a row's name in messages. Both outlive this.
  ShadowedNamespaces(const PolicyYaml& yaml, std::string_view what)
      : yaml_(yaml), row_name_(what) {}

  /// Refuses an entry of the row's key `namespaces` that an earlier row has, or that a pattern of
  /// one covers.
  [[nodiscard]] base::Result<void> check_row(const YamlNode& row) const;
  /// Pods of the row's namespaces reach no later row.
  void add_row(const YamlNode& row);

 private:
  using ShadowingRow = std::pair<std::string_view, std::size_t>;  // the pattern and its row's line

  [[nodiscard]] const ShadowingRow* shadowing_row_of(std::string_view pattern) const;

  const PolicyYaml& yaml_;
  std::string_view row_name_;
  std::unordered_map<std::string_view, ShadowingRow> by_pattern_;
  std::vector<ShadowingRow> wildcards_;
};

}  // namespace snug::codec
