// What tenants share, as the operator's policy says it (`sharing:`): plain data, which fit and plan
// read and codec/policy_codec fills.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/units.hpp"

namespace snug {

struct SharingRule {
  bool own_namespace_only = false;   // neighbours: namespace
  std::optional<MilliGpu> cap;       // of all that the namespace holds, in the whole cluster
  bool require_enforcement = false;  // shares only on nodes labelled snug.dev/enforced=true

  friend bool operator==(const SharingRule&, const SharingRule&) = default;
};

struct SharingRow {
  std::vector<std::string> namespaces;  // globs
  SharingRule rule;

  friend bool operator==(const SharingRow&, const SharingRow&) = default;
};

/// The first row whose globs match a namespace counts; where none does, nothing is restricted.
class SharingRules {
 public:
  SharingRules() = default;
  explicit SharingRules(std::vector<SharingRow> rows);

  [[nodiscard]] const SharingRule& of(std::string_view name_space) const;
  /// Whether any namespace keeps others off its GPUs: where none does, nobody need look.
  [[nodiscard]] bool any_apart() const { return any_apart_; }
  [[nodiscard]] const std::vector<SharingRow>& rows() const { return rows_; }

 private:
  std::vector<SharingRow> rows_;
  bool any_apart_ = false;
};

}  // namespace snug
