// Labels of a node as texts and numbers. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "codec/json.hpp"
#include "snug/base/result.hpp"
#include "snug/model/node.hpp"

namespace snug {

/// Empty: there is no such key, or its value is empty.
[[nodiscard]] std::string_view value_of(const StringMap& map, std::string_view key);

/// The label as a number; the error names it, what stands there and what is allowed.
[[nodiscard]] Result<std::int64_t> read_number(const NodeFacts& node, std::string_view key,
                                               IntegerRange range);

}  // namespace snug
