#include "demand/cutting_stock.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace snug::demand {
namespace {

constexpr std::size_t kGpuMilli = 1000;  // milli-GPU of a whole GPU
constexpr double kEpsilon = 1e-9;
/// The maximum number of pivots of the simplex method. It prevents an infinite loop, which rounding
/// errors could cause. A dozen sizes of shares need only a few dozen pivots.
constexpr int kMaxPivots = 2'000;

using Matrix = std::vector<std::vector<double>>;

/// Solves the linear program that minimizes the number of GPUs that all pods need together. The
/// program has one column for each cut of a GPU (see cutting_stock.hpp). The algorithm is the
/// revised simplex method with column generation.
class CuttingStock {
 public:
  explicit CuttingStock(const std::vector<ShareDemand>& demand)
      : demand_(demand),
        inverse_(demand.size(), std::vector<double>(demand.size(), 0)),
        gpus_(demand.size()),
        prices_(demand.size()) {
    // In the initial basis, each cut has only shares of one size.
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const std::int64_t copies = static_cast<std::int64_t>(kGpuMilli) / demand[i].size;
      inverse_[i][i] = 1 / static_cast<double>(copies);
      gpus_[i] = demand[i].pods / static_cast<double>(copies);
    }
  }

  std::vector<double> solve() {
    for (int pivot = 0; pivot < kMaxPivots; ++pivot) {
      set_prices();
      const std::vector<double> cut = best_cut();
      if (cut.empty() || !enter_basis(cut)) break;
    }
    for (double& price : prices_) price = std::max(0.0, price);
    return std::move(prices_);
  }

 private:
  void set_prices() {
    for (std::size_t i = 0; i < prices_.size(); ++i) {
      prices_[i] = 0;
      for (const std::vector<double>& row : inverse_) prices_[i] += row[i];
    }
  }

  /// Returns the cut with the highest value at the current prices, as the number of shares of each
  /// size. Empty if no cut is worth more than 1 GPU; the prices are optimal then.
  [[nodiscard]] std::vector<double> best_cut() const {
    std::vector<double> value(kGpuMilli + 1, 0);
    std::vector<std::size_t> last(kGpuMilli + 1, demand_.size());
    for (std::size_t left = 1; left <= kGpuMilli; ++left) {
      value[left] = value[left - 1];
      for (std::size_t i = 0; i < demand_.size(); ++i) {
        const auto size = static_cast<std::size_t>(demand_[i].size);
        if (size > left || value[left - size] + prices_[i] <= value[left] + kEpsilon) continue;
        value[left] = value[left - size] + prices_[i];
        last[left] = i;
      }
    }
    if (value[kGpuMilli] <= 1 + 1e-7) return {};
    std::vector<double> cut(demand_.size(), 0);
    std::size_t left = kGpuMilli;
    while (left > 0) {
      const std::size_t i = last[left];
      if (i == demand_.size()) {
        --left;
      } else {
        cut[i] += 1;
        left -= static_cast<std::size_t>(demand_[i].size);
      }
    }
    return cut;
  }

  /// Replaces a column of the basis by `cut`. False if there is no column to replace, which only
  /// rounding errors can cause.
  bool enter_basis(const std::vector<double>& cut) {
    const std::size_t rows = demand_.size();
    std::vector<double> column(rows, 0);
    std::size_t leaves = rows;
    double least = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t k = 0; k < rows; ++k) column[i] += inverse_[i][k] * cut[k];
      if (column[i] <= kEpsilon) continue;
      const double ratio = gpus_[i] / column[i];
      if (leaves != rows && ratio >= least - kEpsilon) continue;
      leaves = i;
      least = ratio;
    }
    if (leaves == rows) return false;
    for (std::size_t i = 0; i < rows; ++i) {
      if (i != leaves) gpus_[i] -= least * column[i];
    }
    gpus_[leaves] = least;
    for (double& entry : inverse_[leaves]) entry /= column[leaves];
    for (std::size_t i = 0; i < rows; ++i) {
      if (i == leaves) continue;
      for (std::size_t k = 0; k < rows; ++k) inverse_[i][k] -= column[i] * inverse_[leaves][k];
    }
    return true;
  }

  const std::vector<ShareDemand>& demand_;
  Matrix inverse_;            // the inverse of the basis
  std::vector<double> gpus_;  // number of GPUs with each cut of the basis
  std::vector<double> prices_;
};

}  // namespace

std::vector<double> cutting_stock_prices(const std::vector<ShareDemand>& demand) {
  return CuttingStock(demand).solve();
}

std::vector<double> knapsack_values(const std::vector<ShareDemand>& demand,
                                    const std::vector<double>& prices) {
  std::vector<double> value(kGpuMilli + 1, 0);
  for (std::size_t left = 1; left <= kGpuMilli; ++left) {
    value[left] = value[left - 1];
    for (std::size_t i = 0; i < demand.size(); ++i) {
      const auto size = static_cast<std::size_t>(demand[i].size);
      if (size <= left) value[left] = std::max(value[left], value[left - size] + prices[i]);
    }
  }
  return value;
}

}  // namespace snug::demand
