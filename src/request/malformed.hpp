// Builds the messages of refused requests. User input is shown in at most kMaxShownValue printable
// characters, so that every message is short and safe to log.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "snug/model/reasons.hpp"

namespace snug::request {

inline constexpr std::size_t kMaxShownValue = 63;

[[nodiscard]] bool is_printable(char c);

/// A value as messages show it: `?` for each unprintable byte, `...` after a truncated value.
[[nodiscard]] std::string shown(std::string_view value);

[[nodiscard]] std::unexpected<model::Refusal> malformed(std::string sentence);

/// `gpu-fraction is "x"; allowed is …`
[[nodiscard]] std::unexpected<model::Refusal> bad_value(std::string_view key,
                                                        std::string_view value,
                                                        std::string_view allowed);

}  // namespace snug::request
