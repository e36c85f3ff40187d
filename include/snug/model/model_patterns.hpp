// Matches names with glob patterns, in which `*` stands for any text and `?` for any one byte.
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

/// Whether the case of ASCII letters matters in a match.
enum class LetterCase : std::uint8_t { kExact, kAny };

[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text,
                                LetterCase letters = LetterCase::kExact);
[[nodiscard]] bool any_glob_matches(std::span<const std::string> patterns, std::string_view text,
                                    LetterCase letters = LetterCase::kExact);

/// Whether `text` is a valid model name: 1 to kMaxModelBytes printable ASCII characters.
[[nodiscard]] bool is_valid_model_name(std::string_view text);

/// `model` without the suffixes that NVIDIA appends for sharing (`-SHARED`, `-MIG-…`).
[[nodiscard]] std::string_view strip_sharing_suffix(std::string_view model);

/// The name of a GPU model, prepared for fast matching with many patterns. The time of a match
/// depends only on the length of the pattern: a few instructions for each byte.
class ModelMatcher {
 public:
  /// Requires that `model` outlives this object and is at most kMaxModelBytes long.
  explicit ModelMatcher(std::string_view model);

  /// The name as given to the constructor, with NVIDIA's suffixes.
  [[nodiscard]] std::string_view name() const { return model_; }
  /// Whether the pattern matches the name, ignoring case. NVIDIA's suffixes are removed from the
  /// name first, and the pattern may omit the brand: `A100*` matches `NVIDIA-A100-SXM4-40GB`, and
  /// `T4` matches `Tesla-T4`.
  [[nodiscard]] bool matches(std::string_view pattern) const;
  [[nodiscard]] bool matches_any(std::span<const std::string> patterns) const;

 private:
  /// A set of positions in `unsuffixed_`: bit i is byte i.
  __extension__ using Bytes = unsigned __int128;
  static_assert(base::kMaxModelBytes <= 8 * sizeof(Bytes));

  [[nodiscard]] bool matches_from(std::size_t begin, std::string_view pattern) const;

  std::string_view model_;
  std::string_view unsuffixed_;
  std::size_t brand_length_ = 0;        // length of the brand in `unsuffixed_`
  std::array<Bytes, 256> positions_{};  // positions of each lower-case byte in `unsuffixed_`
};

/// The GPU models that a container accepts, from the annotation `gpu-model`.
struct ModelFilter {
  // Each element is a pattern for ModelMatcher::matches(), or `=NAME`, which matches only the model
  // NAME. Annotations cannot contain `=NAME`.
  std::vector<std::string> included;  // empty: all models
  std::vector<std::string> excluded;  // takes precedence over `included`

  [[nodiscard]] bool allows(const ModelMatcher& model) const;
  [[nodiscard]] bool allows(std::string_view model) const;
  [[nodiscard]] bool empty() const { return included.empty() && excluded.empty(); }
  /// The total length of all patterns. The time of allows() is proportional to it.
  [[nodiscard]] std::size_t pattern_bytes() const;
  friend bool operator==(const ModelFilter&, const ModelFilter&) = default;
};

}  // namespace snug::model
