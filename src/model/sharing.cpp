#include "snug/model/sharing.hpp"

#include <algorithm>
#include <utility>

#include "snug/model/glob.hpp"

namespace snug {

SharingRules::SharingRules(std::vector<SharingRow> rows)
    : rows_(std::move(rows)), any_apart_(std::ranges::any_of(rows_, [](const SharingRow& row) {
        return row.rule.own_namespace_only;
      })) {}

const SharingRule& SharingRules::of(std::string_view name_space) const {
  static constexpr SharingRule kNoRule{};
  for (const SharingRow& row : rows_) {
    if (any_glob_matches(row.namespaces, name_space)) return row.rule;
  }
  return kNoRule;
}

}  // namespace snug
