// Prices of GPU shares: the dual prices of the cutting-stock problem (Gilmore and Gomory, "A linear
// programming approach to the cutting-stock problem", 1961), and the knapsack values of what is
// left of a GPU. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace snug::demand {

struct ShareDemand {
  std::int64_t size = 0;  // milli-GPU, 1..999
  double pods = 0;        // > 0
};

/// A price in GPUs for each size: they
///
///   maximize  sum over sizes i of pods_i * price_i
///   so that   sum over i of cut_i * price_i <= 1 for every cut of a GPU,
///
/// a cut being numbers of shares of each size that fit on one GPU together. Sizes are distinct.
/// Exact but for rounding, by column generation; the same input gives the same result.
[[nodiscard]] std::vector<double> cutting_stock_prices(const std::vector<ShareDemand>& demand);

/// By milli-GPU, 0..1000, the largest sum of prices of shares that fit into as much, each size any
/// number of times.
[[nodiscard]] std::vector<double> knapsack_values(const std::vector<ShareDemand>& demand,
                                                  const std::vector<double>& prices);

}  // namespace snug::demand
