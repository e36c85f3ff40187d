// The line of JSON in which snug-observe says what it has seen, and the rows of `snugctl verify` as
// JSON. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "snug/base/result.hpp"
#include "snug/verify/node_check.hpp"
#include "snug/verify/observation.hpp"

namespace snug::verify_codec {

/// At most kMaxObservationBytes with its newline; what does not fit is cut or left out.
[[nodiscard]] std::string write_observation(const verify::Observation& seen);
[[nodiscard]] base::Result<verify::Observation> read_observation(std::string_view json);

/// `{"node": …, "checks": [{"check", "expected", "seen", "verdict"}]}`, with the verdicts `ok`,
/// `failed`, `not-checked` and `not-enforced`.
[[nodiscard]] std::string write_checks(const std::string& node,
                                       std::span<const verify::Check> checks);

}  // namespace snug::verify_codec
