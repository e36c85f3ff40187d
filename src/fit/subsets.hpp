// Chooses the sets of GPUs that are scored for a request for several GPUs. If there are few sets,
// all are chosen. If there are many, the set of the first GPUs and sets of GPUs that are linked by
// NVLink are chosen, or the first sets if no NVLinks are known.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/fit/fit.hpp"
#include "snug/model/snapshot.hpp"

namespace snug::fit {

/// Returns different sets of `gpu_count` GPUs chosen from `fitting_gpus`. `fitting_gpus` has at
/// least `gpu_count` positions, in ascending order, and `gpu_count` is at least 1. The sets are in
/// ascending order, and so are the positions in each set. The result has at least one set and at
/// most 96. If no NVLinks are known, adjacent GPUs are interchangeable if `memo` says so: of sets
/// that differ only in such GPUs, the result has one.
[[nodiscard]] std::vector<std::vector<std::size_t>> subsets(
    const model::NodeState& node, const FitMemo& memo, const std::vector<std::size_t>& fitting_gpus,
    std::size_t gpu_count);

}  // namespace snug::fit
