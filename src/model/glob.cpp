#include "snug/model/glob.hpp"

#include <algorithm>
#include <cstddef>

namespace snug {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(char a, char b, LetterCase letters) {
  return letters == LetterCase::kAny ? lower(a) == lower(b) : a == b;
}

std::string_view without_brand(std::string_view model) {
  for (const std::string_view brand : {"NVIDIA-", "NVIDIA ", "Tesla-", "Tesla "}) {
    if (model.starts_with(brand)) return model.substr(brand.size());
  }
  return model;
}

}  // namespace

/// Linear but for going back to the last star, as no earlier one can do better.
bool glob_matches(std::string_view pattern, std::string_view text, LetterCase letters) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || same(pattern[p], text[t], letters))) {
      ++p;
      ++t;
    } else if (after_star != std::string_view::npos) {
      p = after_star;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool any_glob_matches(std::span<const std::string> patterns, std::string_view text,
                      LetterCase letters) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return glob_matches(pattern, text, letters); });
}

std::string_view bare_model(std::string_view model) {
  constexpr std::string_view kShared = "-SHARED";
  if (model.ends_with(kShared)) model.remove_suffix(kShared.size());
  return model.substr(0, model.find("-MIG-"));
}

bool any_model_matches(std::span<const std::string> patterns, std::string_view model) {
  const std::string_view bare = bare_model(model);
  if (any_glob_matches(patterns, bare, LetterCase::kAny)) return true;
  const std::string_view short_name = without_brand(bare);
  return short_name != bare && any_glob_matches(patterns, short_name, LetterCase::kAny);
}

bool ModelFilter::allows(std::string_view model) const {
  if (empty()) return true;
  return (wanted.empty() || any_model_matches(wanted, model)) &&
         !any_model_matches(excluded, model);
}

}  // namespace snug
