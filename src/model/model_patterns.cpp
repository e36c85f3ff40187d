#include "snug/model/model_patterns.hpp"

#include <algorithm>
#include <cstddef>

#include "snug/base/check.hpp"

namespace snug::model {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_letter(char a, char b, LetterCase letters) {
  return letters == LetterCase::kAny ? lower(a) == lower(b) : a == b;
}

std::string_view without_brand(std::string_view model) {
  for (const std::string_view brand : {"NVIDIA-", "NVIDIA ", "Tesla-", "Tesla "}) {
    if (model.starts_with(brand)) return model.substr(brand.size());
  }
  return model;
}

}  // namespace

/// On a mismatch, lets the last `*` match one more byte. An earlier `*` never needs to match more
/// bytes.
bool glob_matches(std::string_view pattern, std::string_view text, LetterCase letters) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_text = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' || same_letter(pattern[p], text[t], letters))) {
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

bool is_valid_model_name(std::string_view text) {
  return !text.empty() && text.size() <= base::kMaxModelBytes &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view strip_sharing_suffix(std::string_view model) {
  constexpr std::string_view kShared = "-SHARED";
  if (model.ends_with(kShared)) model.remove_suffix(kShared.size());
  return model.substr(0, model.find("-MIG-"));
}

ModelMatcher::ModelMatcher(std::string_view model)
    : model_(model), unsuffixed_(strip_sharing_suffix(model)) {
  SNUG_CHECK(model.size() <= base::kMaxModelBytes);
  brand_length_ = unsuffixed_.size() - without_brand(unsuffixed_).size();
  for (std::size_t i = 0; i < unsuffixed_.size(); ++i) {
    positions_.at(static_cast<unsigned char>(lower(unsuffixed_[i]))) |= Bytes{1} << i;
  }
}

bool ModelMatcher::matches(std::string_view pattern) const {
  return matches_from(0, pattern) || (brand_length_ > 0 && matches_from(brand_length_, pattern));
}

bool ModelMatcher::matches_any(std::span<const std::string> patterns) const {
  return std::ranges::any_of(patterns,
                             [&](const std::string& pattern) { return matches(pattern); });
}

/// Whether `pattern` matches `unsuffixed_` from byte `begin` on. Scans `pattern` once. `match_ends`
/// is the set of bytes at which a match of the scanned part of `pattern` can end.
bool ModelMatcher::matches_from(std::size_t begin, std::string_view pattern) const {
  bool may_be_empty = begin == 0;  // whether the scanned part matches the empty text
  Bytes match_ends = begin == 0 ? Bytes{0} : Bytes{1} << (begin - 1);
  for (const char c : pattern) {
    if (c == '*') {
      // `*` matches any number of further bytes, so all bits above the lowest set bit are set too.
      match_ends = may_be_empty ? ~Bytes{0} : match_ends | -match_ends;
      continue;
    }
    match_ends = match_ends << 1 | Bytes{may_be_empty};
    if (c != '?') match_ends &= positions_.at(static_cast<unsigned char>(lower(c)));
    may_be_empty = false;
    if (match_ends == 0) return false;
  }
  if (unsuffixed_.empty()) return may_be_empty;
  return (match_ends >> (unsuffixed_.size() - 1) & 1) != 0;
}

bool ModelFilter::allows(const ModelMatcher& model) const {
  const auto names_model = [&](const std::string& pattern) {
    return pattern.starts_with('=') ? std::string_view(pattern).substr(1) == model.name()
                                    : model.matches(pattern);
  };
  return (included.empty() || std::ranges::any_of(included, names_model)) &&
         std::ranges::none_of(excluded, names_model);
}

bool ModelFilter::allows(std::string_view model) const {
  return empty() || allows(ModelMatcher(model));
}

std::size_t ModelFilter::pattern_bytes() const {
  std::size_t sum = 0;
  for (const std::string& pattern : included) sum += pattern.size();
  for (const std::string& pattern : excluded) sum += pattern.size();
  return sum;
}

}  // namespace snug::model
