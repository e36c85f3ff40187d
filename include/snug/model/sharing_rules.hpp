// Which tenants may share GPUs, from the policy's `sharing:` (codec/policy_codec). Plain data, read
// by fit and plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"

namespace snug::model {

struct SharingRule {
  bool own_namespace_only = false;    // neighbours: namespace
  std::optional<base::MilliGpu> cap;  // on what the namespace holds in the whole cluster
  bool require_enforcement = false;   // shares only on nodes labelled snug.dev/enforced=true

  friend bool operator==(const SharingRule&, const SharingRule&) = default;
};

struct SharingRow {
  std::vector<std::string> namespaces;  // globs
  SharingRule rule;

  friend bool operator==(const SharingRow&, const SharingRow&) = default;
};

/// The first row whose globs match a namespace applies; without one, nothing is restricted.
class SharingRules {
 public:
  SharingRules() = default;
  explicit SharingRules(std::vector<SharingRow> rows);

  [[nodiscard]] const SharingRule& rule_for(std::string_view name_space) const;
  /// Whether any row restricts neighbours. If not, no GPU needs to be checked for them.
  [[nodiscard]] bool isolates_any_namespace() const { return isolates_any_namespace_; }
  [[nodiscard]] const std::vector<SharingRow>& rows() const { return rows_; }

 private:
  std::vector<SharingRow> rows_;
  bool isolates_any_namespace_ = false;
};

}  // namespace snug::model
