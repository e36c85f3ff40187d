// Names by pattern: `*` stands for any text, `?` for any one byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

enum class LetterCase : std::uint8_t { kExact, kAny };  // of ASCII letters

[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text,
                                LetterCase letters = LetterCase::kExact);
[[nodiscard]] bool any_glob_matches(std::span<const std::string> patterns, std::string_view text,
                                    LetterCase letters = LetterCase::kExact);

/// A GPU's model without what NVIDIA appends for sharing (`-SHARED`, `-MIG-…`).
[[nodiscard]] std::string_view bare_model(std::string_view model);

/// Whether a pattern matches the bare model, without case. The brand in front may be left out:
/// `A100*` is `NVIDIA-A100-SXM4-40GB` too, and `T4` is `Tesla-T4`.
[[nodiscard]] bool any_model_matches(std::span<const std::string> patterns, std::string_view model);

/// `gpu-model`: which models a container takes.
struct ModelFilter {
  std::vector<std::string> wanted;    // globs; empty: any
  std::vector<std::string> excluded;  // globs; these win

  [[nodiscard]] bool allows(std::string_view model) const;
  [[nodiscard]] bool empty() const { return wanted.empty() && excluded.empty(); }
  friend bool operator==(const ModelFilter&, const ModelFilter&) = default;
};

}  // namespace snug
