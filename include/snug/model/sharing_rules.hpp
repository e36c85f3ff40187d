// Rules about the namespaces whose pods may share GPUs, from `sharing:` in the policy
// (codec/policy_codec). fit and plan read them. Plain data.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"

namespace snug::model {

struct SharingRule {
  bool own_namespace_only = false;    // `neighbours: namespace`: no sharing with other namespaces
  std::optional<base::MilliGpu> cap;  // limit of the namespace's compute in the cluster
  bool require_enforcement = false;  // its shares fit only on nodes labelled snug.dev/enforced=true

  friend bool operator==(const SharingRule&, const SharingRule&) = default;
};

struct SharingRow {
  std::vector<std::string> namespaces;  // glob patterns
  SharingRule rule;

  friend bool operator==(const SharingRow&, const SharingRow&) = default;
};

/// A namespace has the rule of the first row with a pattern that matches the namespace. If no row
/// has one, the namespace is not restricted.
class SharingRules {
 public:
  SharingRules() = default;
  explicit SharingRules(std::vector<SharingRow> rows);

  [[nodiscard]] const SharingRule& rule_for(std::string_view name_space) const;
  /// Whether any row has `own_namespace_only`. If not, the namespaces on a GPU need not be checked.
  [[nodiscard]] bool isolates_any_namespace() const { return isolates_any_namespace_; }
  [[nodiscard]] const std::vector<SharingRow>& rows() const { return rows_; }

 private:
  std::vector<SharingRow> rows_;
  bool isolates_any_namespace_ = false;
};

}  // namespace snug::model
