// What shares are worth when GPUs are cut into them: the duals of the cutting-stock problem
// (Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", 1961).
#pragma once

#include <cstdint>
#include <vector>

namespace snug {

struct ShareDemand {
  std::int64_t size = 0;  // milli-GPU, 1..999
  double pods = 0;        // > 0
};

/// A price for each size, in GPUs: the most that all together can be worth when no set of shares
/// that fits on one GPU costs more than the GPU. Sizes differ. Exact but for rounding, by column
/// generation; the same for the same input.
[[nodiscard]] std::vector<double> cutting_prices(const std::vector<ShareDemand>& demand);

/// For 0..1000 milli-GPU the most that shares which fit in are worth.
[[nodiscard]] std::vector<double> worth_of_room(const std::vector<ShareDemand>& demand,
                                                const std::vector<double>& prices);

}  // namespace snug
