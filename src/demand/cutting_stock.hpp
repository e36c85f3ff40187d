// Computes the prices of GPU shares, which are the dual prices of the cutting-stock problem
// (Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", 1961). Also
// computes the value of a free part of a GPU at these prices (knapsack problem). Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace snug::demand {

struct ShareDemand {
  std::int64_t size = 0;  // milli-GPU, 1..999
  double pods = 0;        // number of pods, above 0
};

/// Computes a price, in GPUs, for each size of shares. The prices
///
///   maximize  sum over sizes i of pods_i * price_i
///   so that   sum over sizes i of cut_i * price_i <= 1 for every cut of a GPU.
///
/// A cut is a set of shares that fit on one GPU together; cut_i is the number of its shares of size
/// i. `demand` must not contain a size twice. The prices are exact except for rounding errors. The
/// same input gives the same result.
[[nodiscard]] std::vector<double> cutting_stock_prices(const std::vector<ShareDemand>& demand);

/// Computes the values of 0, 1, 2, ..., 1000 free milli-GPU. The value of n milli-GPU is the
/// largest sum of prices of shares whose sizes add up to at most n. There can be any number of
/// shares of each size.
[[nodiscard]] std::vector<double> knapsack_values(const std::vector<ShareDemand>& demand,
                                                  const std::vector<double>& prices);

}  // namespace snug::demand
