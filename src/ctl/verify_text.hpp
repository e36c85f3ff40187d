// The rows of `snugctl verify` as a table, and the exit code that they mean. Pure.
#pragma once

#include <span>
#include <string>

#include "ctl/text_table.hpp"
#include "snug/verify/node_check.hpp"

namespace snug::ctl {

/// Something that should hold could not be checked, and nothing failed.
inline constexpr int kExitNotChecked = 3;

[[nodiscard]] std::string verify_text(const std::string& node,
                                      std::span<const verify::Check> checks,
                                      const TextStyle& style);
[[nodiscard]] int verify_exit_code(std::span<const verify::Check> checks);

}  // namespace snug::ctl
