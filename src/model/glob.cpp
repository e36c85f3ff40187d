#include "snug/model/glob.hpp"

#include <algorithm>
#include <cstddef>

#include "snug/base/check.hpp"

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

/// Backtracks only to the last star: no earlier one can give a better match.
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

bool is_model(std::string_view text) {
  return !text.empty() && text.size() <= kMostModelBytes &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view bare_model(std::string_view model) {
  constexpr std::string_view kShared = "-SHARED";
  if (model.ends_with(kShared)) model.remove_suffix(kShared.size());
  return model.substr(0, model.find("-MIG-"));
}

ModelText::ModelText(std::string_view model) : model_(model), bare_(bare_model(model)) {
  SNUG_CHECK(model.size() <= kMostModelBytes);
  brand_ = bare_.size() - without_brand(bare_).size();
  for (std::size_t i = 0; i < bare_.size(); ++i) {
    places_.at(static_cast<unsigned char>(lower(bare_[i]))) |= Bytes{1} << i;
  }
}

bool ModelText::matches(std::string_view pattern) const {
  return matches_from(0, pattern) || (brand_ > 0 && matches_from(brand_, pattern));
}

bool ModelText::matches_any(std::span<const std::string> patterns) const {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return matches(pattern); });
}

/// Scans the pattern once and keeps the set of positions in the text that it can have reached.
bool ModelText::matches_from(std::size_t begin, std::string_view pattern) const {
  bool may_be_empty = begin == 0;  // whether the pattern so far can match an empty text
  Bytes after = begin == 0 ? Bytes{0} : Bytes{1} << (begin - 1);
  for (const char c : pattern) {
    if (c == '*') {
      after = may_be_empty ? ~Bytes{0} : after | -after;  // from the lowest bit on
      continue;
    }
    after = after << 1 | Bytes{may_be_empty};
    if (c != '?') after &= places_.at(static_cast<unsigned char>(lower(c)));
    may_be_empty = false;
    if (after == 0) return false;
  }
  if (bare_.empty()) return may_be_empty;
  return (after >> (bare_.size() - 1) & 1) != 0;
}

bool ModelFilter::allows(const ModelText& model) const {
  const auto named = [&](const std::string& pattern) {
    return pattern.starts_with('=') ? std::string_view(pattern).substr(1) == model.name()
                                    : model.matches(pattern);
  };
  return (wanted.empty() || std::ranges::any_of(wanted, named)) &&
         std::ranges::none_of(excluded, named);
}

bool ModelFilter::allows(std::string_view model) const {
  return empty() || allows(ModelText(model));
}

std::size_t ModelFilter::bytes() const {
  std::size_t sum = 0;
  for (const std::string& pattern : wanted) sum += pattern.size();
  for (const std::string& pattern : excluded) sum += pattern.size();
  return sum;
}

}  // namespace snug
