// The policies that the FGD paper compares (Weng et al., "Beware of Fragmentation", USENIX ATC
// 2023), as its artifact defines them, for traces. They are baselines and are not shipped.
//
// Details that the paper does not specify are those that reproduce the artifact's figures: a score
// is truncated to an integer at once, and among equally good nodes the first by rank wins.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "snug/sim/replay.hpp"

namespace snug_bench {

/// In the order of the table.
[[nodiscard]] const std::vector<std::string_view>& published_names();

/// `name`: one of published_names(). `seed`: of the policy that draws. `trace`: FGD knows all its
/// pods beforehand.
[[nodiscard]] std::unique_ptr<snug::sim::Placer> published_placer(std::string_view name,
                                                                  const snug::sim::Trace& trace,
                                                                  std::uint64_t seed);

}  // namespace snug_bench
