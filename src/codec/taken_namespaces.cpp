#include "codec/taken_namespaces.hpp"

#include <algorithm>

#include "snug/base/text.hpp"
#include "snug/model/glob.hpp"

namespace snug {
namespace {

/// Up to this many patterns, each pair is compared: tens of thousands would take seconds. Beyond it
/// only identical texts are found.
constexpr std::size_t kMostWild = 256;

bool is_wild(std::string_view pattern) { return pattern.find_first_of("*?") != pattern.npos; }

/// Whether `general` surely matches all that `pattern` does. A star in the pattern stands for any
/// text, which a `?` is not.
bool covers(std::string_view general, std::string_view pattern) {
  const bool star_for_one = general.find('?') != general.npos && pattern.find('*') != pattern.npos;
  return !star_for_one && glob_matches(general, pattern);
}

}  // namespace

const TakenNamespaces::Taker* TakenNamespaces::taker_of(std::string_view pattern) const {
  if (const auto same = exact_.find(pattern); same != exact_.end()) return &same->second;
  const auto found =
      std::ranges::find_if(wild_, [&](const Taker& taker) { return covers(taker.first, pattern); });
  return found == wild_.end() ? nullptr : &*found;
}

Result<void> TakenNamespaces::check(const YamlNode& row) const {
  const YamlNode* list = row.find("namespaces");
  if (list == nullptr) return {};
  for (const YamlNode& item : list->items) {
    const Taker* taker = taker_of(item.text);
    if (taker == nullptr) continue;
    return yaml_.problem(item, in_quotes(item.text) + " never counts here, since the " +
                                   std::string(what_) + " in line " +
                                   std::to_string(taker->second) + " takes it first (" +
                                   in_quotes(taker->first) + "); each namespace takes the first " +
                                   std::string(what_) + " that names it");
  }
  return {};
}

void TakenNamespaces::take(const YamlNode& row) {
  const YamlNode* list = row.find("namespaces");
  if (list == nullptr) return;
  for (const YamlNode& item : list->items) {
    const Taker taker{item.text, static_cast<std::size_t>(row.line)};
    exact_.emplace(item.text, taker);
    if (is_wild(item.text) && wild_.size() < kMostWild) wild_.push_back(taker);
  }
}

}  // namespace snug
