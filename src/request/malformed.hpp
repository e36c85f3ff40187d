// Builds the sentences that refuse malformed requests. They show at most kMaxShownValue characters
// of each key or value of the user, all printable, so that every sentence is short and safe to log.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "snug/model/reasons.hpp"

namespace snug::request {

inline constexpr std::size_t kMaxShownValue = 63;

[[nodiscard]] bool is_printable(char c);

/// Returns the first kMaxShownValue characters of `value`, with `?` in place of each unprintable
/// byte. `...` at the end means that `value` is longer.
[[nodiscard]] std::string shown(std::string_view value);

[[nodiscard]] std::unexpected<model::Refusal> malformed(std::string sentence);

/// Makes a refusal with a sentence like `gpu-fraction is "x"; expected …`.
[[nodiscard]] std::unexpected<model::Refusal> bad_value(std::string_view key,
                                                        std::string_view value,
                                                        std::string_view allowed);

}  // namespace snug::request
