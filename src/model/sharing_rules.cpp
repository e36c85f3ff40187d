#include "snug/model/sharing_rules.hpp"

#include <algorithm>
#include <utility>

#include "snug/model/model_patterns.hpp"

namespace snug::model {

SharingRules::SharingRules(std::vector<SharingRow> rows)
    : rows_(std::move(rows)),
      isolates_any_namespace_(std::ranges::any_of(
          rows_, [](const SharingRow& row) { return row.rule.own_namespace_only; })) {}

const SharingRule& SharingRules::rule_for(std::string_view name_space) const {
  static constexpr SharingRule kNoRule{};
  for (const SharingRow& row : rows_) {
    if (any_glob_matches(row.namespaces, name_space)) return row.rule;
  }
  return kNoRule;
}

}  // namespace snug::model
