#include "codec/shadowed_namespaces.hpp"

#include <algorithm>

#include "snug/base/text.hpp"
#include "snug/model/model_patterns.hpp"

namespace snug::codec {
namespace {

/// The maximum number of wildcard patterns that covers() compares with each later pattern.
/// Comparisons with tens of thousands of patterns would take seconds. A pattern beyond the maximum
/// shadows only identical patterns.
constexpr std::size_t kMaxWildcardPatterns = 256;

bool has_wildcard(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

/// Whether `general` certainly matches every name that `pattern` matches. Matches `general` against
/// the text of `pattern`. Returns false if `general` has a `?` and `pattern` has a `*`, because the
/// `?` would match the character `*`, but not every text that the `*` stands for.
bool covers(std::string_view general, std::string_view pattern) {
  const bool star_for_one = general.find('?') != general.npos && pattern.find('*') != pattern.npos;
  return !star_for_one && model::glob_matches(general, pattern);
}

}  // namespace

const ShadowedNamespaces::ShadowingRow* ShadowedNamespaces::shadowing_row_of(
    std::string_view pattern) const {
  if (const auto same_pattern = by_pattern_.find(pattern); same_pattern != by_pattern_.end())
    return &same_pattern->second;
  const auto wildcard = std::ranges::find_if(wildcards_, [&](const ShadowingRow& earlier_row) {
    return covers(earlier_row.first, pattern);
  });
  return wildcard == wildcards_.end() ? nullptr : &*wildcard;
}

base::Result<void> ShadowedNamespaces::check_row(const YamlNode& row) const {
  const YamlNode* list = row.find("namespaces");
  if (list == nullptr) return {};
  for (const YamlNode& pattern_node : list->items) {
    const ShadowingRow* earlier_row = shadowing_row_of(pattern_node.text);
    if (earlier_row == nullptr) continue;
    return yaml_.error_at(pattern_node,
                          base::in_quotes(pattern_node.text) + " has no effect here, because the " +
                              std::string(row_name_) + " in line " +
                              std::to_string(earlier_row->second) + " matches it first (" +
                              base::in_quotes(earlier_row->first) + "); the first " +
                              std::string(row_name_) + " that matches a namespace applies to it");
  }
  return {};
}

void ShadowedNamespaces::add_row(const YamlNode& row) {
  const YamlNode* list = row.find("namespaces");
  if (list == nullptr) return;
  for (const YamlNode& pattern_node : list->items) {
    const ShadowingRow shadowing_row{pattern_node.text, static_cast<std::size_t>(row.line)};
    by_pattern_.emplace(pattern_node.text, shadowing_row);
    if (has_wildcard(pattern_node.text) && wildcards_.size() < kMaxWildcardPatterns)
      wildcards_.push_back(shadowing_row);
  }
}

}  // namespace snug::codec
