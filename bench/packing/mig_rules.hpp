// Simple rules for MIG slices, as baselines: the first card on which the slice fits, or the one
// with the fewest free memory slices, at the lowest or the highest start.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "snug/sim/replay.hpp"

namespace snug_bench {

/// The names that reference.csv uses.
[[nodiscard]] const std::vector<std::string_view>& mig_rule_names();

/// `name`: one of mig_rule_names(). For traces all of whose pods ask for profiles, on nodes of one
/// model.
[[nodiscard]] std::unique_ptr<snug::sim::Placer> mig_rule(std::string_view name);

}  // namespace snug_bench
