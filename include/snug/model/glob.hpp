// Names by pattern: `*` stands for any text, `?` for any one byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/limits.hpp"

namespace snug {

enum class LetterCase : std::uint8_t { kExact, kAny };  // of ASCII letters

[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text,
                                LetterCase letters = LetterCase::kExact);
[[nodiscard]] bool any_glob_matches(std::span<const std::string> patterns, std::string_view text,
                                    LetterCase letters = LetterCase::kExact);

/// Whether a GPU's model may be called so: by 1 to kMostModelBytes printable ASCII characters.
[[nodiscard]] bool is_model(std::string_view text);

/// A GPU's model without what NVIDIA appends for sharing (`-SHARED`, `-MIG-…`).
[[nodiscard]] std::string_view bare_model(std::string_view model);

/// A GPU's model, ready to be compared with many patterns: a pattern costs a few instructions for
/// each of its bytes, whatever stars it has and however long the model is.
class ModelText {
 public:
  /// `model` outlives it, and has at most kMostModelBytes.
  explicit ModelText(std::string_view model);

  /// The whole name, with what NVIDIA appends.
  [[nodiscard]] std::string_view name() const { return model_; }
  /// Whether the pattern matches the bare model, without case. The brand in front may be left out:
  /// `A100*` matches `NVIDIA-A100-SXM4-40GB` too, and `T4` matches `Tesla-T4`.
  [[nodiscard]] bool matches(std::string_view pattern) const;
  [[nodiscard]] bool matches_any(std::span<const std::string> patterns) const;

 private:
  /// Bit i: the text's byte i.
  __extension__ using Bytes = unsigned __int128;
  static_assert(kMostModelBytes <= 8 * sizeof(Bytes));

  [[nodiscard]] bool matches_from(std::size_t begin, std::string_view pattern) const;

  std::string_view model_;
  std::string_view bare_;
  std::size_t brand_ = 0;            // bytes of `bare_` that a pattern may leave out
  std::array<Bytes, 256> places_{};  // by byte, in lower case: where it stands in `bare_`
};

/// `gpu-model`: which models a container takes.
struct ModelFilter {
  // Patterns of ModelText, or `=NAME`: the model of exactly this name. Annotations cannot say that.
  std::vector<std::string> wanted;    // empty: any
  std::vector<std::string> excluded;  // these win

  [[nodiscard]] bool allows(const ModelText& model) const;
  [[nodiscard]] bool allows(std::string_view model) const;
  [[nodiscard]] bool empty() const { return wanted.empty() && excluded.empty(); }
  /// Of all patterns: what comparing a model with them costs.
  [[nodiscard]] std::size_t bytes() const;
  friend bool operator==(const ModelFilter&, const ModelFilter&) = default;
};

}  // namespace snug
