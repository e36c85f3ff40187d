// Glob patterns: `*` matches any text, `?` any one byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"

namespace snug::model {

enum class LetterCase : std::uint8_t { kExact, kAny };  // of ASCII letters

[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text,
                                LetterCase letters = LetterCase::kExact);
[[nodiscard]] bool any_glob_matches(std::span<const std::string> patterns, std::string_view text,
                                    LetterCase letters = LetterCase::kExact);

/// Whether `text` is a valid model name: 1 to kMaxModelBytes printable ASCII characters.
[[nodiscard]] bool is_valid_model_name(std::string_view text);

/// A GPU's model without NVIDIA's suffixes for sharing (`-SHARED`, `-MIG-…`).
[[nodiscard]] std::string_view strip_sharing_suffix(std::string_view model);

/// A GPU's model, prepared for matching many patterns. A match takes a few instructions per byte of
/// the pattern, whatever its stars and the length of the model.
class ModelMatcher {
 public:
  /// Requires that `model` outlives this object and has at most kMaxModelBytes.
  explicit ModelMatcher(std::string_view model);

  /// The whole name, with NVIDIA's suffixes.
  [[nodiscard]] std::string_view name() const { return model_; }
  /// Whether the pattern matches the bare model, with or without the brand in front, ignoring case:
  /// `A100*` matches `NVIDIA-A100-SXM4-40GB`, and `T4` matches `Tesla-T4`.
  [[nodiscard]] bool matches(std::string_view pattern) const;
  [[nodiscard]] bool matches_any(std::span<const std::string> patterns) const;

 private:
  /// Bit i stands for byte i of the text.
  __extension__ using Bytes = unsigned __int128;
  static_assert(base::kMaxModelBytes <= 8 * sizeof(Bytes));

  [[nodiscard]] bool matches_from(std::size_t begin, std::string_view pattern) const;

  std::string_view model_;
  std::string_view unsuffixed_;
  std::size_t brand_length_ = 0;        // length of the prefix of `bare_` that a pattern may omit
  std::array<Bytes, 256> positions_{};  // by lower-case byte: its positions in `bare_`
};

/// `gpu-model`: which models a container accepts.
struct ModelFilter {
  // Patterns for ModelMatcher::matches(), or `=NAME` for exactly this model, which annotations
  // cannot express.
  std::vector<std::string> included;  // empty: any model
  std::vector<std::string> excluded;  // take precedence

  [[nodiscard]] bool allows(const ModelMatcher& model) const;
  [[nodiscard]] bool allows(std::string_view model) const;
  [[nodiscard]] bool empty() const { return included.empty() && excluded.empty(); }
  /// The total length of the patterns, which bounds the cost of matching a model.
  [[nodiscard]] std::size_t pattern_bytes() const;
  friend bool operator==(const ModelFilter&, const ModelFilter&) = default;
};

}  // namespace snug::model
