// The simplest rules for MIG slices, as yardsticks: the first card with room, or the one with the
// fewest memory slices left, at the lowest or the highest start.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "snug/sim/replay.hpp"

namespace snug_bench {

/// As reference.csv calls them.
[[nodiscard]] const std::vector<std::string_view>& mig_rule_names();

/// `name`: one of mig_rule_names(). For traces all of whose pods ask for profiles, on nodes of one
/// model.
[[nodiscard]] std::unique_ptr<snug::sim::Placer> mig_rule(std::string_view name);

}  // namespace snug_bench
